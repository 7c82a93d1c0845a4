#include "push_lies.hpp"

namespace udtx::hostile {

using namespace transfer;

namespace {

using Edit = std::function<void(message::Pull&)>;
using Tell = std::function<void(Script&)>;

/// A request for `sources`, edited by `edit`. `more` adds messages before ACCEPT, `after` adds messages that are sent
/// too early after it.
PushLie fetch(std::string_view name, Expect expect, std::uint64_t code, std::string_view named,
              const std::vector<std::string>& sources, const Edit& edit = {}, const Tell& more = {},
              const Tell& after = {}) {
    return {name, expect, code, named, [=](Script& s, Speech&) {
                message::Pull m;
                m.what.sources = sources;
                if (edit) edit(m);
                s.put(m);
                if (more) more(s);
                s.put(message::Accept{});
                s.put(message::Resume{});  // the client has no files: it wants everything
                if (after) after(s);
            }};
}

constexpr auto kEnds = Expect::ends;
constexpr std::uint64_t kBroken = 2;
constexpr std::uint64_t kRefused = 3;

const auto kNamed = [](message::Pull& m) { m.what.names.emplace(); };

std::vector<PushLie> all() {
    const auto names = [](std::vector<std::string> list) {
        return [list = std::move(list)](Script& s) { s.put(message::Names{list}); };
    };
    const auto say = [](const Message& message) { return [=](Script& s) { s.put(message); }; };
    std::vector<PushLie> out = {
        // The client never confirms, so the truth counts as "the server waits".
        fetch("the truth", Expect::waits, 0, "", {"keep"}),
        fetch("up", kEnds, kRefused, "..", {"../outside/canary"}),
        fetch("up from below", kEnds, kRefused, "..", {"d/../../outside/canary"}),
        fetch("absolute", Expect::any, 0, "", {"/etc/passwd"}),
        fetch("through a link", Expect::any, 0, "", {"out/canary"}),
        fetch("into a link", Expect::any, 0, "", {"out/"}),
        fetch("a NUL", Expect::any, 0, "", {std::string("keep\0x", 6)}),
        fetch("a transfer's own", Expect::any, 0, "", {".udtx-00000000000000aa.part"}),
        fetch("below a transfer's own", Expect::any, 0, "", {".udtx-00000000000000aa.part/x"}),
        fetch("as a stream through a link", Expect::any, 0, "", {"out/canary"},
              [](message::Pull& m) { m.mode = TransferMode::stream; }),
        fetch("a link as a stream", Expect::any, 0, "", {"out"},
              [](message::Pull& m) { m.mode = TransferMode::stream; }),
        fetch("nothing", kEnds, kBroken, "", {}),
        fetch("257 sources", kEnds, kBroken, "", std::vector<std::string>(257, "keep")),
        fetch("a long source", Expect::any, 0, "", {std::string(5000, 'x')}),
        fetch("another version", kEnds, kBroken, "version", {"keep"}, [](message::Pull& m) { m.version = 12; }),
        fetch("a stream with a deletion", kEnds, kBroken, "stream", {"keep"},
              [](message::Pull& m) {
                  m.mode = TransferMode::stream;
                  m.what.erase = true;
              }),
        fetch("a list that leads out", kEnds, kBroken, "leads out", {"./"}, kNamed, names({"../outside/canary"})),
        fetch("a list through a link", Expect::waits, 0, "", {"./"}, kNamed, names({"out/canary"})),
        fetch("an absolute list", Expect::waits, 0, "", {"./"}, kNamed, names({"/etc/passwd"})),
        fetch("a list of no request", kEnds, kBroken, "without a list", {"keep"}, {}, names({"keep"})),
        fetch("a list of a file", kEnds, kRefused, "one directory", {"keep"}, kNamed, names({"keep"})),
        fetch("an endless list", kEnds, kBroken, "too many names", {"./"}, kNamed,
              [](Script& s) {
                  const message::Names many{std::vector<std::string>(1000, std::string(50, 'n'))};
                  for (int i = 0; i < 500; ++i) s.put(many);
              }),
        fetch("a request twice", kEnds, kBroken, "two requests", {"keep"}, {},
              say(message::Pull{.what = {.sources = {"keep"}}})),
        fetch("confirmed before it was sent", kEnds, kBroken, "before everything", {"keep"}, {}, {},
              say(message::Confirm{})),
        fetch("an answer to no question", kEnds, kBroken, "no query", {"keep"}, {}, {},
              say(message::Answer{1ULL << 61U, Holding::same, 0, {}, 0})),
        {"only an accept", kEnds, kBroken, "", [](Script& s, Speech&) { s.put(message::Accept{}); }},
        {"data with a request", Expect::ends, kBroken, "data",
         [](Script& s, Speech&) {
             message::Pull m;
             m.what.sources = {"keep"};
             s.put(m);
             s.spill("data");
             s.put(message::Accept{});
         }},
        {"a stream of the fetcher's", Expect::ends, kBroken, "stream",
         [](Script& s, Speech& speech) {
             message::Pull m;
             m.what.sources = {"keep"};
             s.put(m);
             s.put(message::Accept{});
             speech.second_stream = true;
         }},
        {"a request without an end", Expect::waits, 0, "",
         [](Script& s, Speech&) {
             message::Pull m;
             m.what.sources = {"keep"};
             s.put(m);
         }},
    };
    for (const Message& message : senders_messages()) {
        if (std::holds_alternative<message::Rules>(message) || std::holds_alternative<message::Note>(message)) continue;
        out.push_back(fetch("a sender's message in a request", kEnds, kBroken, "", {"keep"}, {}, say(message)));
        out.push_back(fetch("a sender's message after a request", kEnds, kBroken, "", {"keep"}, {}, {}, say(message)));
    }
    return out;
}

}  // namespace

const std::vector<PushLie>& fetch_lies() {
    static const std::vector<PushLie> table = all();
    return table;
}

std::vector<Message> senders_messages() {
    PlannedEntry planned;
    planned.path = "a";
    message::Entry entry;
    entry.path = {"a"};
    return {entry,
            message::Extents{0, {{0, 1}}},
            message::Digests{0, 0, {zeros(16)}},
            message::FileEnd{0, FileStatus::ok, {}},
            message::Finish{},
            message::Kept{0, {{0, 1}}},
            message::Query{0, {"a"}, 1, {}, 0, false, false, 0, 0, 0},
            message::Meta{0, true, true, 0, 0, {{"user.a", "b"}}},
            message::Rules{true, {{true, "a"}}},
            message::Plan{planned},
            message::Sources{},
            message::Unsent{{"a"}},
            message::Found{},
            message::Note{"a"}};
}

std::vector<Message> receivers_messages() {
    message::Pull pull;
    pull.what.sources = {"a"};
    return {message::Accept{},
            message::FileFailed{0, 3, "a", "no"},
            message::Delivered{},
            message::Confirm{},
            message::Stopped{0, "no", {}},
            message::Resume{},
            message::Answer{},
            message::Load{},
            message::Cap{},
            message::Erased{{"a"}},
            pull,
            message::Names{{"a"}}};
}

}  // namespace udtx::hostile
