// Which parts of a transfer wait for the other end. The cases count round trips: they check what arrives while one
// direction loses every packet.
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "scenario/transfer_rig.hpp"
#include "sim/check.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::sim;
using namespace udtx::test;
using namespace std::chrono_literals;

namespace {

/// Drops all packets of that host while `on`.
void silence(Scenario& s, NodeId whose, const bool& on) {
    s.network().set_filter([&on, whose](Instant, NodeId from, const Packet&) { return !on || from != whose; });
}

/// Runs virtual time for the network, then real time for the disk threads, until the file exists.
bool comes_to_be(Scenario& s, const fs::path& path) {
    static_cast<void>(s.run_until([&] { return fs::exists(path); }, s.elapsed() + 5s));
    for (int i = 0; i < 500 && !fs::exists(path); ++i) {
        s.run_for(2ms);
        std::this_thread::sleep_for(4ms);
    }
    return fs::exists(path);
}

/// A transfer as over ssh: the receiver connects, and the sender knows beforehand what to send.
class StartedSender {
  public:
    StartedSender(Scenario& s, const std::string& source, const std::string& destination, bool fresh) {
        transfer::SendOptions what{.what = {.sources = {source}}, .fresh = fresh};
        transfer::SendRun run{.found = transfer::message::Sources{transfer::SourceShape::file, {}}};
        transfer::ReceiveRun where;
        transfer::PullWish wish;
        wish.what.sources = {source};
        where.pull =
            transfer::PullOrder{{},
                                transfer::AskedFor(wish, transfer::AskedFor::Sources::patterns),
                                [destination](const transfer::message::Sources&) {
                                    return Result<transfer::LandingPlace>(transfer::LandingPlace{destination, {}});
                                }};
        auto send = transfer::SendJob::create(std::move(what), std::move(run), [this] { sent = true; });
        auto receive = transfer::ReceiveJob::create({}, std::move(where), [this] { received = true; });
        REQUIRE((send.ok() && receive.ok()));
        sender = std::make_shared<JobApp<transfer::SendJob>>(std::move(*send));
        receiver = std::make_shared<JobApp<transfer::ReceiveJob>>(std::move(*receive));
        s.server().listen(1, [this](proto::Connection&) { return sender; });
        s.client().connect(s.server().address(), receiver);
        s.client().pump();
    }

    /// Runs virtual time for the network and real time for the disk threads until both ends have finished.
    void finish(Scenario& s) const {
        for (int i = 0; i < 5000 && !(sent && received); ++i) {
            s.run_for(20ms);
            std::this_thread::sleep_for(1ms);
        }
    }

    std::atomic<bool> sent{false};
    std::atomic<bool> received{false};
    std::shared_ptr<JobApp<transfer::SendJob>> sender;
    std::shared_ptr<JobApp<transfer::ReceiveJob>> receiver;
};

/// A file to send, and a destination that holds another file.
struct SmallFile : TemporaryDirectory {
    SmallFile() {
        write_file(*this / "small", "x");
        fs::create_directory(*this / "dst");
        write_file(*this / "dst/other", "so that there is something to ask about");
    }
};

}  // namespace

TEST_CASE("with a shared key a small file is confirmed two round trips after the sender began") {
    constexpr Duration kRoundTrip = 200ms;
    const auto confirmed_after = [&](const char* what, const char* there, bool touched) {
        const SmallFile temp;
        const fs::path source = temp / "small";
        const fs::path target = temp / "dst/small";
        if (there == nullptr) fs::remove(temp / "dst/other");
        if (there != nullptr && *there != 0) write_file(target, there);
        if (there != nullptr && *there != 0) {
            fs::last_write_time(target, fs::last_write_time(source) - (touched ? 1h : 0h));
        }
        auto setup = symmetric(what, {.bits_per_second = 200'000'000, .delay = kRoundTrip / 2});
        setup.client_hello_key = setup.server_hello_key = crypto::Secret{};
        Scenario s(std::move(setup));
        TransferRig rig(s, {.what = {.sources = {source.string()}}}, {.directory = (temp / "dst").string()});
        const auto confirmed = [&] { return rig.sender->job().progress().phase == transfer::Phase::done; };
        SIM_REQUIRE(s, s.run_until(confirmed, 5s));
        const Duration took = s.elapsed();
        SIM_REQUIRE(s, rig.run(s, 600s));
        SIM_CHECK(s, rig.sender->job().result().status.ok());
        SIM_CHECK(s, read_file(target) == "x");
        INFO(what);
        CHECK(took < kRoundTrip * 22 / 10);
        return rig.sender->job().result();
    };
    CHECK(confirmed_after("an empty place", nullptr, true).files == 1);
    CHECK(confirmed_after("beside another file", "", true).files == 1);
    CHECK(confirmed_after("an older version", "older", true).files == 1);
    CHECK(confirmed_after("the same, with another time", "x", true).files == 1);
    const transfer::Outcome same = confirmed_after("the same", "x", false);
    CHECK(same.unchanged == 1);
    CHECK(same.files == 0);
    CHECK(same.sent_bytes == 0);
}

TEST_CASE("what came ahead of an answer is dropped where the answer is that something stays") {
    const auto push = [](const char* what, const SmallFile& temp, transfer::Overwrite overwrite) {
        Scenario s(symmetric(what, {.bits_per_second = 200'000'000, .delay = 50ms}));
        TransferRig rig(s, {.what = {.sources = {(temp / "small").string()}, .overwrite = overwrite}},
                        {.directory = (temp / "dst").string()});
        SIM_REQUIRE(s, rig.run(s, 600s));
        SIM_CHECK(s, rig.receiver->job().result().sent_bytes == 0);
        return rig.sender->job().result();
    };
    const SmallFile mine;
    write_file(mine / "dst/small", "mine");
    const transfer::Outcome skipped = push("not to be overwritten", mine, transfer::Overwrite::never);
    CHECK(skipped.status.ok());
    CHECK(skipped.skipped == 1);
    CHECK(skipped.files == 0);
    CHECK(read_file(mine / "dst/small") == "mine");
    const SmallFile blocked;
    fs::create_directories(blocked / "dst/small/full");
    const transfer::Outcome failed = push("a directory in the way", blocked, transfer::Overwrite::diff);
    CHECK_FALSE(failed.status.ok());
    CHECK(failed.failed_count == 1);
    CHECK(failed.exact);
    CHECK(fs::is_directory(blocked / "dst/small/full"));
}

TEST_CASE("to a place where nothing stands all is sent before the receiver has said a word") {
    for (const bool fresh : {true, false}) {
        const SmallFile temp;
        Scenario s(symmetric(fresh ? "nothing stands there" : "who knows what stands there", line(0)));
        TransferRig rig(s, {.what = {.sources = {(temp / "small").string()}}, .fresh = fresh},
                        {.directory = (temp / "dst").string()});
        bool silent = false;
        silence(s, s.server().node(), silent);
        const auto offers = [&] { return rig.sender->job().progress().phase == transfer::Phase::transfer; };
        SIM_REQUIRE(s, s.run_until(offers, 5s));
        silent = true;
        SIM_CHECK(s, comes_to_be(s, temp / "dst/small") == fresh);
        silent = false;
        SIM_REQUIRE(s, rig.run(s, 600s));
        SIM_CHECK(s, rig.sender->job().result().status.ok());
        SIM_CHECK(s, rig.receiver->job().result().files == 1);
    }
}

TEST_CASE("a receiver that expects nothing here gets all of it for its first word, and is done when it has it") {
    for (const bool fresh : {true, false}) {
        const SmallFile temp;
        Scenario s(symmetric(fresh ? "fetched to where nothing stands" : "fetched", line(0)));
        StartedSender pull(s, (temp / "small").string(), (temp / "dst").string(), fresh);
        bool silent = false;
        silence(s, s.client().node(), silent);
        const auto offers = [&] { return pull.sender->job().progress().phase == transfer::Phase::transfer; };
        SIM_REQUIRE(s, s.run_until(offers, 5s));
        silent = true;
        SIM_CHECK(s, comes_to_be(s, temp / "dst/small") == fresh);
        if (fresh) {
            for (int i = 0; i < 2000 && !pull.received; ++i) {
                s.run_for(2ms);
                std::this_thread::sleep_for(1ms);
            }
            SIM_CHECK(s, pull.received);
            SIM_CHECK(s, pull.receiver->job().result().status.ok());
            SIM_CHECK(s, !pull.sent);
        }
        silent = false;
        pull.finish(s);
        SIM_CHECK(s, pull.sender->job().result().status.ok());
        SIM_CHECK(s, pull.receiver->job().result().files == 1);
        SIM_CHECK(s, read_file(temp / "dst/small") == "x");
    }
}

TEST_CASE("what is fetched over a long way comes with the question about it, and is dropped if it stands") {
    for (const bool there : {false, true}) {
        const SmallFile temp;
        if (there) fs::copy_file(temp / "small", temp / "dst/small");
        if (there) fs::last_write_time(temp / "dst/small", fs::last_write_time(temp / "small"));
        Scenario s(symmetric("fetched from afar", {.bits_per_second = 200'000'000, .delay = 50ms}));
        StartedSender pull(s, (temp / "small").string(), (temp / "dst").string(), false);
        bool silent = false;
        silence(s, s.client().node(), silent);
        const auto offers = [&] { return pull.sender->job().progress().phase == transfer::Phase::transfer; };
        SIM_REQUIRE(s, s.run_until(offers, 5s));
        silent = true;
        if (!there) SIM_CHECK(s, comes_to_be(s, temp / "dst/small"));
        silent = false;
        pull.finish(s);
        SIM_CHECK(s, pull.sender->job().result().status.ok());
        SIM_CHECK(s, pull.receiver->job().result().status.ok());
        SIM_CHECK(s, pull.receiver->job().result().files == (there ? 0 : 1));
        SIM_CHECK(s, pull.receiver->job().result().unchanged == (there ? 1 : 0));
        SIM_CHECK(s, read_file(temp / "dst/small") == "x");
    }
}

TEST_CASE("what stands there against all that was said is replaced as ever") {
    const std::string content = random_content(3'500'000, 5);
    std::string older = content;
    older[2'000'000] = static_cast<char>(~older[2'000'000]);
    for (const std::string& there : {content, older, content.substr(0, 1'500'000), std::string("short")}) {
        const TemporaryDirectory temp;
        write_file(temp / "file", content);
        fs::create_directory(temp / "dst");
        write_file(temp / "dst/file", there);
        Scenario s(symmetric("a lie", line(0)));
        TransferRig rig(s, {.what = {.sources = {(temp / "file").string()}}, .transfer = 5, .fresh = true},
                        {.directory = (temp / "dst").string()});
        SIM_REQUIRE(s, rig.run(s, 600s));
        SIM_REQUIRE(s, rig.sender->job().result().status.ok());
        SIM_REQUIRE(s, rig.receiver->job().result().status.ok());
        SIM_CHECK(s, rig.sender->job().result().sent_bytes == content.size());
        SIM_CHECK(s, read_file(temp / "dst/file") == content);
    }
    // A file that must not be replaced stays.
    const TemporaryDirectory temp;
    write_file(temp / "file", content);
    fs::create_directory(temp / "dst");
    write_file(temp / "dst/file", "mine");
    Scenario s(symmetric("a lie about what must stay", line(0)));
    TransferRig rig(
        s, {.what = {.sources = {(temp / "file").string()}, .overwrite = transfer::Overwrite::never}, .fresh = true},
        {.directory = (temp / "dst").string()});
    SIM_REQUIRE(s, rig.run(s, 600s));
    SIM_CHECK(s, rig.sender->job().result().status.ok());
    SIM_CHECK(s, rig.sender->job().result().skipped == 1);
    SIM_CHECK(s, read_file(temp / "dst/file") == "mine");
}

TEST_CASE("what an earlier run has left against all that was said is written over, and nothing is left") {
    const TemporaryDirectory temp;
    const std::string content = random_content(30'000'000, 6);
    write_file(temp / "file", content);
    fs::create_directory(temp / "dst");
    const auto run = [&](bool fresh, std::optional<Duration> abort_after) {
        Scenario s(symmetric(fresh ? "presumes nothing" : "leaves something", line(0)));
        TransferRig rig(s, {.what = {.sources = {(temp / "file").string()}}, .transfer = 7, .fresh = fresh},
                        {.directory = (temp / "dst").string()});
        if (abort_after) rig.sender->abort_at(kStart + *abort_after);
        SIM_REQUIRE(s, rig.run(s, 600s));
        return rig.sender->job().result();
    };
    REQUIRE_FALSE(run(false, 1s).status.ok());
    REQUIRE(fs::exists(temp / "dst/.udtx-0000000000000007.journal"));
    const transfer::Outcome again = run(true, std::nullopt);
    REQUIRE(again.status.ok());
    CHECK(again.sent_bytes == content.size());
    CHECK(read_file(temp / "dst/file") == content);
    CHECK(std::distance(fs::directory_iterator(temp / "dst"), fs::directory_iterator()) == 1);
}
