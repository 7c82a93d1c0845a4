#include "transfer/source/inquiries.hpp"

#include <string>
#include <vector>

#include "test/catch.hpp"
#include "transfer/message/message_codec.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

struct InquiriesRig {
    void found(const std::string& path, bool unsent = false) {
        ScannedEntry entry;
        entry.path = path;
        entry.unsent = unsent;
        scanned.push(std::move(entry), 1);
    }
    /// The messages of one kind that were sent since the last call.
    template <class Kind>
    std::vector<Kind> told() {
        packer.flush();
        while (auto out = outgoing.try_pop()) reader.feed(out->control);
        std::vector<Kind> kinds;
        for (;;) {
            auto next = reader.next();
            REQUIRE(next);
            if (!next->has_value()) return kinds;
            if (const auto* kind = std::get_if<Kind>(&**next)) kinds.push_back(*kind);
        }
    }

    std::vector<SourceRoot> roots;
    SendOptions options;
    ReadRun run;
    LateWaker waker;
    JobReport report;
    ScanQueue scanned{kMaxScanQueueBytes};
    OutgoingQueue outgoing;
    OutgoingPacker packer{outgoing, waker};
    Announcer announcer{roots, options, run, packer, report};
    ResumeAnswers answers;
    MessageReader reader;
    Inquiries inquiries{options, scanned, packer, announcer, answers};
};

}  // namespace

TEST_CASE("before the receiver has spoken only some files are asked about, and after it the rest") {
    InquiriesRig rig;
    for (int i = 0; i < 1000; ++i) rig.found("file " + std::to_string(i));
    const auto first = rig.inquiries.next();
    REQUIRE(first);
    CHECK(first->entry.path == "file 0");
    REQUIRE(first->query);
    const std::size_t early = rig.told<message::Query>().size();
    CHECK(early > 0);
    CHECK(early < 1000);
    CHECK_FALSE(rig.inquiries.knows_answer(first->query));

    rig.answers.decide({true, {}, false, false});
    CHECK_FALSE(rig.inquiries.knows_answer(first->query));
    REQUIRE(rig.answers.add({*first->query, Holding::nothing, 0, {}}));
    CHECK(rig.inquiries.knows_answer(first->query));
    REQUIRE(rig.inquiries.next());
    // One slot was still free when the early queries were sent.
    CHECK(early + rig.told<message::Query>().size() >= 999);
}

TEST_CASE("a receiver that has nothing is asked nothing more") {
    InquiriesRig rig;
    rig.answers.decide({false, {}, false, false});
    rig.inquiries.take_decision();
    for (int i = 0; i < 10; ++i) rig.found("file " + std::to_string(i));
    const auto first = rig.inquiries.next();
    REQUIRE(first);
    CHECK_FALSE(first->query);
    CHECK(rig.inquiries.knows_answer(first->query));
    CHECK(rig.told<message::Query>().empty());
}

TEST_CASE("names that are not sent are told in lists that a message can hold, and never come up") {
    InquiriesRig rig;
    const std::string longest(4000, 'n');
    for (int i = 0; i < 40; ++i) rig.found(longest + std::to_string(i), true);
    rig.found("sent");
    rig.scanned.close();
    const auto only = rig.inquiries.next();
    REQUIRE(only);
    CHECK(only->entry.path == "sent");
    CHECK_FALSE(rig.inquiries.next());
    CHECK(rig.inquiries.over());
    rig.inquiries.flush_unsent();
    std::size_t names = 0;
    for (const message::Unsent& list : rig.told<message::Unsent>()) {
        CHECK(list.paths.size() * longest.size() <= kMaxListedPathBytes);
        names += list.paths.size();
    }
    CHECK(names == 40);
}

TEST_CASE("the first other name of a file that was not sent goes in its place, and the rest lead there") {
    UnreplacedNames names;
    ScannedEntry file;
    file.path = "stays";
    file.linked = true;
    names.add(file);
    const auto link_to = [](const std::string& path, const std::string& target) {
        ScannedEntry out;
        out.path = path;
        out.target = target;
        return out;
    };
    ScannedEntry other = link_to("link", "sent");
    CHECK(names.lead(other));
    CHECK(other.target == "sent");
    ScannedEntry first = link_to("first", "stays");
    CHECK_FALSE(names.lead(first));
    ScannedEntry second = link_to("second", "stays");
    CHECK(names.lead(second));
    CHECK(second.target == "first");
}
