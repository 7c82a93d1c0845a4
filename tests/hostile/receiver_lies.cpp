#include "receiver_lies.hpp"

#include <string>
#include <utility>

#include "push_lies.hpp"

namespace udtx::hostile {

using namespace transfer;

namespace {

using Tell = std::function<void(const Heard&, Answers&)>;

Tell say(std::vector<Message> messages) {
    return [messages = std::move(messages)](const Heard&, Answers& out) { out.messages = messages; };
}
message::Confirm confirm(const Heard& heard, const std::function<void(message::Confirm&)>& edit = {}) {
    message::Confirm m;
    m.totals.files = m.totals.files_done = 2;
    m.totals.directories = 1;
    m.totals.bytes = m.totals.written_bytes = 12;
    m.root = heard.finish.root;
    if (edit) edit(m);
    return m;
}
Tell at_end(const std::function<void(message::Confirm&)>& edit, const std::vector<Message>& before = {}) {
    return [=](const Heard& heard, Answers& out) {
        out.messages = before;
        out.messages.emplace_back(confirm(heard, edit));
    };
}
/// Answers each query with the answer that `edit` makes.
Tell answer(const std::function<void(message::Answer&)>& edit) {
    return [=](const Heard& heard, Answers& out) {
        for (const message::Query& query : heard.queries) {
            message::Answer m;
            m.number = query.number;
            edit(m);
            out.messages.emplace_back(std::move(m));
        }
    };
}

constexpr std::uint64_t kHuge = (1ULL << 62U) - 1;
constexpr auto kOffer = When::at_offer;
constexpr auto kQuery = When::at_query;
constexpr auto kFinish = When::at_finish;

std::vector<ReceiverLie> all() {
    const auto pieces = [](std::size_t count, std::uint64_t length) {
        return [=](message::Answer& m) {
            m.has = Holding::all_pieces;
            for (std::size_t i = 0; i < count; ++i) m.pieces.push_back({i << 20U, length, zeros(16)});
        };
    };
    std::vector<ReceiverLie> out = {
        {"the truth", "0", "", kFinish, at_end({})},
        {"nothing is there", "0", "", kQuery, answer([](message::Answer& m) { m.has = Holding::nothing; })},

        // --- confirmations
        {"confirmed before it was sent", "12", "before everything", kOffer, say({message::Confirm{}})},
        {"confirmed what is being asked", "12", "", kQuery, say({message::Confirm{}})},
        {"another root", "41", "root", kFinish, at_end([](message::Confirm& m) { m.root = zeros(16); })},
        {"no root", "41", "root", kFinish, at_end([](message::Confirm& m) { m.root = {}; })},
        {"a root of another hash", "41", "root", kFinish, at_end([](message::Confirm& m) { m.root = zeros(32); })},
        {"failures that were not told", "12", "did not report", kFinish,
         at_end([](message::Confirm& m) { m.totals.failures = 1; })},
        {"a failure that is not counted", "11|23", "", kFinish, at_end({}, {message::FileFailed{1, 4, "a", "no"}})},
        {"more files than were sent", "12", "more", kFinish, at_end([](message::Confirm& m) { m.totals.files = 3; })},
        {"2^62 files", "12", "more", kFinish, at_end([](message::Confirm& m) { m.totals.files = kHuge; })},
        {"2^62 bytes", "0", "", kFinish, at_end([](message::Confirm& m) { m.totals.bytes = kHuge; })},
        {"fewer files than were sent", "12", "fewer", kFinish,
         at_end([](message::Confirm& m) { m.totals.files = m.totals.files_done = 1; })},
        {"nothing of what was sent", "12", "fewer", kFinish, at_end([](message::Confirm& m) { m.totals = {}; })},
        {"files that are done and went nowhere", "12", "fewer", kFinish,
         at_end([](message::Confirm& m) { m.totals.files = 0; })},
        {"no directory", "12", "fewer", kFinish, at_end([](message::Confirm& m) { m.totals.directories = 0; })},
        {"more directories than were sent", "12", "more", kFinish,
         at_end([](message::Confirm& m) { m.totals.directories = 2; })},
        {"2^62 directories and links", "12", "more", kFinish,
         at_end([](message::Confirm& m) { m.totals.directories = m.totals.links = kHuge; })},
        {"deleted, unasked", "12", "delet", kFinish, at_end({}, {message::Erased{{"a"}}})},
        {"deletions counted, unasked", "12", "delet", kFinish,
         at_end([](message::Confirm& m) { m.totals.erased = 5; })},

        // --- ends of the transfer
        {"stopped as if all were well", "12", "", kFinish, say({message::Stopped{0, "done", {}}})},
        {"stopped for no known reason", "12", "", kOffer, say({message::Stopped{kHuge, "x", {}}})},
        {"closed as if all were well", "12", "without confirming", kFinish,
         [](const Heard&, Answers& told) { told.close_orderly = true; }},
        {"closed at once as if all were well", "12", "without confirming", kOffer,
         [](const Heard&, Answers& told) { told.close_orderly = true; }},

        // --- answers
        {"an answer to no question", "12", "no query", kOffer, say({message::Answer{kHuge, Holding::same, 0, {}, 0}})},
        {"an answer twice", "12", "no query", kQuery,
         [](const Heard& heard, Answers& told) {
             const message::Answer m{heard.queries.front().number, Holding::nothing, 0, {}, 0};
             told.messages = {m, m};
         }},
        {"pieces that nobody has", "0", "", kQuery, answer(pieces(1, 1U << 20U))},
        {"a piece of 2^62 bytes", "0", "", kQuery, answer(pieces(1, kHuge))},
        {"pieces behind the end", "0", "", kQuery, answer(pieces(1000, 1U << 20U))},
        {"endless pieces", "12", "too many pieces", kQuery,
         [](const Heard& heard, Answers& told) {
             message::Answer m{heard.queries.front().number, Holding::pieces, 0, {}, 0};
             for (std::size_t i = 0; i < 1024; ++i) m.pieces.push_back({0, 1, zeros(16)});
             told.messages.assign(4200, m);
         }},

        // --- messages at the wrong place
        {"another version", "12", "version", kOffer, say({message::Accept{12}})},
        {"a second stream", "12", "second stream", kOffer,
         [](const Heard&, Answers& told) { told.second_stream = true; }},
        {"a request", "12", "", kOffer, say({message::Names{{"/etc/passwd"}}})},
        {"10,000 notes", "0", "", kOffer,
         [](const Heard&, Answers& told) { told.messages.resize(10'000, message::Note{"\x1b[2Jnote"}); }},
        {"10,000 failures", "11|23", "", kFinish,
         [](const Heard& heard, Answers& told) {
             told.messages.assign(10'000, message::FileFailed{kHuge, 4, "\x1b[2J", "no"});
             told.messages.emplace_back(confirm(heard, [](message::Confirm& m) { m.totals.failures = 10'000; }));
         }},
    };
    for (const Message& message : senders_messages()) {
        if (std::holds_alternative<message::Note>(message)) continue;
        out.push_back({"a sender's message", "12", "", kOffer, say({message})});
    }
    return out;
}

}  // namespace

const std::vector<ReceiverLie>& receiver_lies() {
    static const std::vector<ReceiverLie> table = all();
    return table;
}

}  // namespace udtx::hostile
