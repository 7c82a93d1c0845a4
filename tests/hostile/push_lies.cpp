#include "push_lies.hpp"

#include <utility>

#include "transfer/names.hpp"

namespace udtx::hostile {

using namespace transfer;

namespace {

using Tell = std::function<void(Script&)>;

/// Sends an offer, the messages of `tell`, and FINISH.
PushLie tree(std::string_view name, Expect expect, std::uint64_t code, std::string_view named, const Tell& tell,
             const Script::Edit& edit = {}) {
    return {name, expect, code, named, [=](Script& s, Speech&) {
                s.offer(edit);
                tell(s);
                s.finish();
            }};
}
/// Sends only the messages of `tell`.
PushLie words(std::string_view name, Expect expect, std::uint64_t code, std::string_view named, const Tell& tell) {
    return {name, expect, code, named, [=](Script& s, Speech&) { tell(s); }};
}
PushLie speech(std::string_view name, Expect expect, std::uint64_t code, std::string_view named,
               const std::function<void(Script&, Speech&)>& tell) {
    return {name, expect, code, named, tell};
}

/// An empty file with that path, whether valid or not.
Tell named(std::vector<std::string> path) {
    return [path = std::move(path)](Script& s) {
        message::Entry m = s.entry(EntryType::file, "x");
        m.path = path;
        m.whole = true;
        s.put(m);
    };
}
Tell file(const std::string& path) {
    return [=](Script& s) { s.file(path); };
}

/// A file of ten bytes, up to its data, with `extents` in its EXTENTS message.
Tell pieces(const std::vector<Extent>& extents, std::uint64_t size = 10) {
    return [=](Script& s) {
        message::Entry m = s.entry(EntryType::file, "f");
        m.size = size;
        s.put(m);
        s.put(message::Extents{m.index, extents});
    };
}
Tell in_all(std::vector<Tell> parts) {
    return [parts = std::move(parts)](Script& s) {
        for (const Tell& part : parts) part(s);
    };
}
Tell put(const Message& message) {
    return [=](Script& s) { s.put(message); };
}

constexpr auto kEnds = Expect::ends;
constexpr auto kFails = Expect::fails;
constexpr std::uint64_t kBroken = 2;
constexpr std::uint64_t kRefused = 3;
constexpr std::uint64_t kHuge = 1ULL << 62U;

void add_names(std::vector<PushLie>& out) {
    const std::string nul("a\0b", 3);
    out.insert(
        out.end(),
        {
            tree("the truth", Expect::delivered, 0, "",
                 in_all({file("a"), [](Script& s) { s.directory("d"); }, file("d/b")})),
            tree("up", kEnds, kBroken, "leads to another directory", named({"..", "canary"})),
            tree("up from below", kEnds, kBroken, "leads to another directory", named({"d", "..", "..", "canary"})),
            tree("here", kEnds, kBroken, "leads to another directory", named({"."})),
            tree("absolute", kEnds, kBroken, "slash", named({"/etc/x"})),
            tree("a path in a name", kEnds, kBroken, "slash", named({"a/../../canary"})),
            tree("a NUL", kEnds, kBroken, "NUL", named({nul})),
            tree("empty", kEnds, kBroken, "empty", named({""})),
            tree("no name", kEnds, kBroken, "empty", named({})),
            tree("256 bytes", kEnds, kBroken, "", named({std::string(256, 'n')})),
            tree("4,096 bytes", kEnds, kRefused, "4,095", named(std::vector<std::string>(17, std::string(240, 'n')))),
            tree("129 levels", kEnds, kBroken, "", named(std::vector<std::string>(129, "d"))),
            tree("a part", kEnds, kBroken, "own files", named({".udtx-0123456789abcdef.part"})),
            tree("a journal", kEnds, kBroken, "own files", named({".udtx-0123456789abcdef.journal"})),
            tree("a part in capitals", kEnds, kBroken, "own files", named({".UDTX-0123456789ABCDEF.PART"})),
            tree("the destination is another's part", kEnds, kBroken, "own files", file("x"),
                 [](message::Offer& m) { m.destination = {".udtx-00000000000000aa.part"}; }),
            tree("the destination is below a journal's name", kEnds, kBroken, "own files", file("x"),
                 [](message::Offer& m) {
                     m.destination = {"d", ".udtx-0123456789abcdef.journal", "x"};
                 }),
            tree(
                "a stream to another's part", kEnds, kBroken, "own files", [](Script&) {},
                [](message::Offer& m) {
                    m.mode = TransferMode::stream;
                    m.destination = {".udtx-00000000000000aa.part"};
                }),
            // The sender chooses another transfer's number, but cannot choose the names of the temporary files.
            tree("another's part by a chosen number", Expect::delivered, 0, "", file("x"),
                 [](message::Offer& m) { m.transfer = 0xaa ^ path_key("x"); }),
            tree(
                "another's part by a link's chosen number", Expect::delivered, 0, "",
                [](Script& s) { s.symlink("x", "keep"); },
                [](message::Offer& m) { m.transfer = 0xaa ^ path_key("x/"); }),
            tree("control characters", Expect::delivered, 0, "", file("\x1b[2J\n\r\x7f")),
            tree("an empty directory's name", kEnds, kBroken, "not requested", [](Script& s) { s.directory(""); }),
            tree("one name twice, under way", kFails, 0, "twice",
                 in_all({pieces({{0, 5}}), [](Script& s) { s.spill("12345"); },
                         put(message::FileEnd{0, FileStatus::ok, {}}), file("f")})),
            tree("a file, then a directory", Expect::any, 0, "",
                 in_all({file("a"), [](Script& s) { s.directory("a"); }, file("a/b")})),
            tree("below a file", Expect::any, 0, "", in_all({file("a"), file("a/b")})),
            tree("the destination is up", kEnds, kBroken, "leads to another directory", file("canary"),
                 [](message::Offer& m) { m.destination = {".."}; }),
            tree("the destination is a link", kEnds, 4, "out", file("canary"),
                 [](message::Offer& m) { m.destination = {"out"}; }),
            tree("the destination is below a link", kEnds, 4, "out", file("canary"),
                 [](message::Offer& m) {
                     m.destination = {"out", "d"};
                 }),
        });
}

void add_shapes(std::vector<PushLie>& out) {
    const auto type = [](int number) {
        return [=](Script& s) {
            message::Entry m = s.entry(EntryType::directory, "node");
            m.type = static_cast<EntryType>(number);
            s.put(m);
        };
    };
    const auto link = [](const char* path, const std::string& target) {
        return [=](Script& s) { s.symlink(path, target); };
    };
    const auto hard = [](const char* path, const char* target) {
        return [=](Script& s) { s.hard_link(path, target); };
    };
    out.insert(
        out.end(),
        {
            tree("F45 a link, then a file through it", kFails, 0, "l/canary",
                 in_all({link("l", "../outside"), file("l/canary")})),
            tree("F45 an absolute link, then a file through it", kFails, 0, "l/x",
                 in_all({link("l", "/tmp"), file("l/x")})),
            tree("F46 two links, then a file through them", kFails, 0, "b/canary",
                 in_all({link("a", "../outside"), link("b", "a"), file("b/canary")})),
            tree("a file through a link that stands here", kFails, 0, "out/canary", file("out/canary")),
            tree("a link through a link", kFails, 0, "out/l", link("out/l", "x")),
            tree("a directory through a link", kFails, 0, "out/d", [](Script& s) { s.directory("out/d"); }),
            tree("a directory in place of a link", Expect::delivered, 0, "",
                 in_all({[](Script& s) { s.directory("out"); }, file("out/canary")})),
            tree("a file in place of a link", Expect::delivered, 0, "", file("out")),
            tree("a link to nowhere", kFails, 0, "target", link("l", "")),
            tree("a link with a NUL", kFails, 0, "target", link("l", std::string("a\0b", 3))),
            tree("a link of 5,000 bytes", kEnds, kBroken, "", link("l", std::string(5000, 'x'))),
            tree("a hard link up", kFails, 0, "h", hard("h", "../outside/canary")),
            tree("an absolute hard link", kFails, 0, "h", hard("h", "/etc/passwd")),
            tree("a hard link through a link", kFails, 0, "h", hard("h", "out/canary")),
            tree("a hard link to a link", kFails, 0, "h", hard("h", "out")),
            tree("a hard link to nothing", kFails, 0, "h", hard("h", "nobody")),
            tree("a hard link to itself", kFails, 0, "h", hard("h", "h")),
            tree("a hard link to a file that stood here", kFails, 0, "h", hard("h", "keep")),
            tree("a hard link to a file that came", Expect::delivered, 0, "", in_all({file("a"), hard("h", "a")})),
            tree("a hard link to another's part", kEnds, kBroken, "own files",
                 hard("h", ".udtx-00000000000000aa.part")),
            tree("a device", kEnds, kBroken, "", type(4)),
            tree("a FIFO", kEnds, kBroken, "", type(5)),
            tree("a socket", kEnds, kBroken, "", type(255)),
        });
}

void add_sizes(std::vector<PushLie>& out) {
    const auto whole = [](std::uint64_t size) {
        return [=](Script& s) {
            message::Entry m = s.entry(EntryType::file, "f");
            m.size = size;
            m.whole = true;
            s.put(m);
        };
    };
    const auto spill = [](std::string_view data) { return [=](Script& s) { s.spill(data); }; };
    out.insert(
        out.end(),
        {
            tree("2^62 in one", kEnds, kBroken, "", whole(kHuge - 1)),
            tree("100 MB in one", kEnds, kBroken, "extent", whole(100'000'000)),
            tree("2^62 of nothing", Expect::any, 0, "",
                 in_all({pieces({}, kHuge - 1), put(message::FileEnd{0, FileStatus::ok, {}})})),
            tree("an extent of nothing", kEnds, kBroken, "extent", pieces({{0, 0}})),
            tree("an extent behind the end", kEnds, kBroken, "extent", pieces({{10, 1}})),
            tree("an extent over the end", kEnds, kBroken, "extent", pieces({{5, 6}})),
            tree("an extent that wraps", kEnds, kBroken, "extent", pieces({{kHuge - 1, kHuge - 1}})),
            tree("an extent that is negative", kEnds, kBroken, "extent", pieces({{5, kHuge - 5}})),
            tree("extents that overlap", kEnds, kBroken, "extent", pieces({{0, 6}, {4, 6}})),
            tree("an extent twice", kEnds, kBroken, "extent", pieces({{0, 5}, {0, 5}})),
            tree("extents backwards", kEnds, kBroken, "extent", pieces({{5, 5}, {0, 5}})),
            tree("extents of a whole file", kEnds, kBroken, "without an open file",
                 in_all({whole(5), put(message::Extents{0, {{0, 5}}})})),
            tree("extents of another file", kEnds, kBroken, "without an open file",
                 in_all({pieces({{0, 5}}), put(message::Extents{1, {{5, 5}}})})),
            tree("kept data behind the end", kEnds, kBroken, "extent",
                 in_all({pieces({{0, 5}}), put(message::Kept{0, {{5, 50}}})})),
            tree("kept data that nobody has", kFails, 0, "f",
                 in_all({pieces({}), put(message::Kept{0, {{0, 10}}}), put(message::FileEnd{0, FileStatus::ok, {}})})),
            tree("a kept file that nobody has", kFails, 0, "f",
                 in_all({pieces({}), put(message::FileEnd{0, FileStatus::kept, {}})})),
            tree("more data", kEnds, kBroken, "", in_all({file("a"), spill("more")})),
            words("less data", Expect::waits, 0, "",
                  in_all({[](Script& s) { s.offer(); }, whole(5), put(message::FileEnd{0, FileStatus::ok, {}}),
                          spill("abc"), put(message::Finish{1, 5, 0, {}})})),
            words("more bytes counted", kEnds, kBroken, "number of bytes",
                  in_all({[](Script& s) { s.offer(); }, file("a"), put(message::Finish{1, 500, 0, {}})})),
            words("more entries counted", kEnds, kBroken, "number of entries",
                  in_all({[](Script& s) { s.offer(); }, file("a"), put(message::Finish{2, 5, 0, {}})})),
            words("another root", kEnds, 5, "root",
                  in_all({[](Script& s) { s.offer(); }, file("a"), put(message::Finish{1, 5, 0, {}})})),
            words("2^62 unsent", Expect::any, 0, "",
                  in_all({[](Script& s) { s.offer(); }, put(message::Finish{0, 0, kHuge - 1, {}})})),
        });
}

void add_digests(std::vector<PushLie>& out) {
    const Digest none = zeros(16);
    const Digest long_one = zeros(32);
    const auto five = [](Script& s) {
        pieces({{0, 5}}, 5)(s);
        s.spill("12345");
    };
    const Tell end = put(message::FileEnd{0, FileStatus::ok, none});
    out.insert(
        out.end(),
        {
            tree("another piece", kFails, 0, "f", in_all({five, put(message::Digests{0, 0, {none}}), end})),
            tree("no digests", kFails, 0, "f", in_all({five, end})),
            tree("no digest of the file", kFails, 0, "f",
                 in_all({five, put(message::Digests{0, 0, {none}}), put(message::FileEnd{0, FileStatus::ok, {}})})),
            tree("digests of no piece", kEnds, kBroken, "digests",
                 in_all({five, put(message::Digests{0, 1, {none}}), end})),
            tree("digests of piece 2^62", kEnds, kBroken, "digests",
                 in_all({five, put(message::Digests{0, kHuge - 1, {none}}), end})),
            tree("digests of another hash", kEnds, kBroken, "another hash",
                 in_all({five, put(message::Digests{0, 0, {long_one}}), end})),
            tree("digests of another file", kEnds, kBroken, "digests",
                 in_all({five, put(message::Digests{7, 0, {none}}), end})),
            tree("a file that the sender could not read", kFails, 0, "",
                 in_all({pieces({}), put(message::FileEnd{0, FileStatus::unreadable, {}})})),
        });
}

void add_orders(std::vector<PushLie>& out) {
    const auto offer = [](Script& s) { s.offer(); };
    const Tell open = pieces({{0, 5}});
    const auto later = [](std::uint64_t index) {
        return [=](Script& s) {
            message::Entry m = s.entry(EntryType::directory, "d");
            m.index = index;
            s.put(m);
        };
    };
    out.insert(
        out.end(),
        {
            words("two offers", kEnds, kBroken, "two offers", in_all({offer, offer})),
            words("two ends", kEnds, kBroken, "after FINISH",
                  in_all({offer, [](Script& s) { s.finish(); }, [](Script& s) { s.finish(); }})),
            tree("the second entry first", kEnds, kBroken, "order", later(1)),
            tree("entry 2^62", kEnds, kBroken, "order", later(kHuge - 1)),
            tree("an entry twice", kEnds, kBroken, "order", in_all({later(0), later(0)})),
            tree("an entry inside of a file", kEnds, kBroken, "inside", in_all({open, later(1)})),
            tree("the end inside of a file", kEnds, kBroken, "inside", open),
            tree("the end of a file twice", kEnds, kBroken, "not open",
                 in_all({file("a"), put(message::FileEnd{0, FileStatus::ok, {}})})),
            tree("the end of another file", kEnds, kBroken, "not open",
                 in_all({open, put(message::FileEnd{1, FileStatus::ok, {}})})),
            tree("attributes before all", kEnds, kBroken, "attributes", put(message::Meta{0, true, true, 0, 0, {}})),
            tree("attributes of another", kEnds, kBroken, "attributes",
                 in_all({file("a"), put(message::Meta{7, true, true, 0, 0, {}})})),
            tree("rules, unasked", kEnds, kBroken, "deletion", put(message::Rules{true, {}})),
            tree("names for a deletion, unasked", kEnds, kBroken, "deletion", put(message::Unsent{{"a"}})),
            tree("a deletion", kEnds, kRefused, "--delete", file("a"), [](message::Offer& m) { m.erase = true; }),
            tree("another version", kEnds, kBroken, "version", file("a"), [](message::Offer& m) { m.version = 12; }),
            tree("files beside a stream", kEnds, kBroken, "stream", file("a"),
                 [](message::Offer& m) {
                     m.mode = TransferMode::stream;
                     m.destination = {"s"};
                 }),
            tree(
                "a stream over a link", kFails, 0, "out", [](Script&) {},
                [](message::Offer& m) {
                    m.mode = TransferMode::stream;
                    m.destination = {"out", "canary"};
                }),
            tree(
                "a stream without a name", kEnds, kRefused, "name", [](Script&) {},
                [](message::Offer& m) { m.mode = TransferMode::stream; }),
            tree("files beside a probe", kEnds, kBroken, "stream", file("a"),
                 [](message::Offer& m) { m.mode = TransferMode::probe; }),
            tree("a file in a dry run", kEnds, kBroken, "dry run", file("a"),
                 [](message::Offer& m) { m.dry_run = true; }),
            tree("all flags", Expect::any, 0, "", file("a"),
                 [](message::Offer& m) {
                     m.preserve = m.owner = m.sparse = m.by_digest = m.set_id = true;
                     m.transfer = kHuge;
                 }),
        });
    // Each message at a place where the protocol forbids it.
    for (const Message& message : senders_messages()) {
        out.push_back(words("a sender's message before the offer", kEnds, kBroken, "", put(message)));
        out.push_back(words("a sender's message after the end", kEnds, kBroken, "",
                            in_all({offer, [](Script& s) { s.finish(); }, put(message)})));
    }
    for (const Message& message : receivers_messages()) {
        out.push_back(tree("a receiver's message", kEnds, kBroken, "receiver's", put(message)));
    }
}

void add_withheld(std::vector<PushLie>& out) {
    const auto offer = [](Script& s) { s.offer(); };
    const auto raw = [](std::string_view bytes) { return [=](Script& s) { s.raw(bytes); }; };
    using namespace std::string_view_literals;
    out.insert(
        out.end(),
        {
            words("nothing but an offer", Expect::waits, 0, "", offer),
            words("half a message", Expect::waits, 0, "", in_all({offer, raw("\x40"sv)})),
            words("a message without its body", Expect::waits, 0, "", in_all({offer, raw("\x80\x00\xff\xff"sv)})),
            words("a message of nothing", kEnds, kBroken, "", in_all({offer, raw("\x00"sv)})),
            words("a message of 65,537 bytes", kEnds, kBroken, "", in_all({offer, raw("\x80\x01\x00\x01"sv)})),
            words("a message of 2^62 bytes", kEnds, kBroken, "",
                  in_all({offer, raw("\xff\xff\xff\xff\xff\xff\xff\xff"sv)})),
            words("type 0", kEnds, kBroken, "", in_all({offer, raw("\x01\x00"sv)})),
            words("type 15", kEnds, kBroken, "", in_all({offer, raw("\x01\x0f"sv)})),
            words("type 255", kEnds, kBroken, "", in_all({offer, raw("\x01\xff"sv)})),
            words("noise before the offer", Expect::waits, 0, "", raw("GET / HTTP/1.1\r\n\r\n"sv)),
            words("65 notes", kEnds, kBroken, "notes",
                  in_all({offer,
                          [](Script& s) {
                              for (int i = 0; i < 65; ++i) s.put(message::Note{"note"});
                          }})),
            words("10,000 questions", Expect::waits, 0, "",
                  in_all({offer,
                          [](Script& s) {
                              for (int i = 0; i < 10'000; ++i) s.query("keep");
                          }})),
            words("a question about what is up", kEnds, kBroken, "leads to another directory",
                  in_all({offer, put(message::Query{0, {"..", "canary"}, 5, {}, 0, false, false, 0, 0, 0})})),
            words("a question about another's part", kEnds, kBroken, "own files",
                  in_all({offer, [](Script& s) { s.query(".udtx-00000000000000aa.part"); }})),
            words("5,000 files that never end", Expect::waits, 0, "",
                  in_all({offer,
                          [](Script& s) {
                              for (int i = 0; i < 5'000; ++i) {
                                  message::Entry m = s.entry(EntryType::file, "never/" + std::to_string(i));
                                  m.size = 5;
                                  m.whole = true;
                                  s.put(m);
                                  s.put(message::FileEnd{m.index, FileStatus::ok, {}});
                              }
                          }})),
            speech("a second stream", kEnds, kBroken, "second",
                   [=](Script& s, Speech& speech) {
                       offer(s);
                       s.file("a");
                       speech.second_stream = true;
                   }),
            speech("a tree on the stream of a pipe", kEnds, kBroken, "ordered",
                   [=](Script& s, Speech& speech) {
                       offer(s);
                       s.file("a");
                       speech.ordered_data = true;
                   }),
            speech("data that does not end", Expect::delivered, 0, "",
                   [=](Script& s, Speech& speech) {
                       offer(s);
                       s.file("a");
                       s.finish();
                       speech.end_data = false;
                   }),
            speech("data and no word", Expect::waits, 0, "",
                   [](Script& s, Speech& speech) {
                       s.spill(std::string(100'000, 'x'));
                       speech.end_data = true;
                   }),
            speech("no end of the control stream but its own", Expect::waits, 0, "",
                   [=](Script& s, Speech& speech) {
                       offer(s);
                       speech.end_control = true;
                   }),
            speech("the control stream ends before a word", kEnds, kBroken, "closed",
                   [](Script& s, Speech& speech) {
                       s.raw("\x40"sv);
                       speech.end_control = true;
                   }),
            speech("the control stream is reset", Expect::any, 0, "",
                   [=](Script& s, Speech& speech) {
                       offer(s);
                       speech.reset_control = true;
                   }),
        });
}

std::vector<PushLie> all() {
    std::vector<PushLie> out;
    add_names(out);
    add_shapes(out);
    add_sizes(out);
    add_digests(out);
    add_orders(out);
    add_withheld(out);
    return out;
}

}  // namespace

const std::vector<PushLie>& push_lies() {
    static const std::vector<PushLie> table = all();
    return table;
}

}  // namespace udtx::hostile
