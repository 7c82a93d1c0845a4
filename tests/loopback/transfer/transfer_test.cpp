// Transfers with only the public headers: a tree there and back, and every further option of a program.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "transfer_fixture.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/transfer.hpp"

using namespace udtx;
using namespace udtx::test;
using transfer::Outcome;

namespace {

std::string why(const Outcome& outcome) { return outcome.status ? "" : outcome.status.error().message; }

/// Polls the condition, as no call waits for it.
bool soon(const std::function<bool()>& reached) {
    for (int i = 0; i < 1200 && !reached(); ++i) std::this_thread::sleep_for(50ms);
    return reached();
}

}  // namespace

TEST_CASE("a tree is sent by one call") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const Outcome outcome =
        transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}, .destination = "in"}));
    INFO(why(outcome));
    REQUIRE(outcome.status);
    CHECK(outcome.exact);
    CHECK(outcome.files == 4);
    CHECK(outcome.directories == 3);
    CHECK(equal(home / "tree/sub/large", served.root / "in/tree/sub/large"));
}

TEST_CASE("windows that hold less than a piece of a file hold no transfer up") {
    const auto narrow = [](TransportConfig& config) { config.stream_window = config.connection_window = 64U << 10U; };
    const Served served([&](transfer::ServerOptions& options) { narrow(options.connection.transport); });
    const TemporaryDirectory home;
    make_tree(home / "tree", 3'000'000);
    auto request = served.push({.what = {.sources = {(home / "tree").string()}}, .destination = "in"});
    narrow(request.peer.connection.transport);
    const Outcome outcome = transfer::send(std::move(request));
    INFO(why(outcome));
    REQUIRE(outcome.status);
    CHECK(equal(home / "tree/sub/large", served.root / "in/tree/sub/large"));
}

TEST_CASE("a tree is fetched by one call, and gets the name that it is to have") {
    const Served served;
    make_tree(served.root / "tree");
    const TemporaryDirectory home;
    const Outcome outcome =
        transfer::receive(served.pull({.what = {.sources = {"tree"}}, .destination = (home / "copy").string()}));
    INFO(why(outcome));
    REQUIRE(outcome.status);
    CHECK(outcome.files == 4);
    CHECK(equal(served.root / "tree/sub/large", home / "copy/sub/large"));
    CHECK(equal(served.root / "tree/small", home / "copy/small"));
}

TEST_CASE("what is asked for and not there is told by name, and the rest comes") {
    const Served served;
    make_tree(served.root / "tree");
    const TemporaryDirectory home;
    const Outcome outcome =
        transfer::receive(served.pull({.what = {.sources = {"nothing", "tree"}}, .destination = home.path().string()}));
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().code == ErrorCode::partial);
    CHECK(outcome.missing == 1);
    REQUIRE(outcome.failed.size() == 1);
    CHECK(outcome.failed.front().path == "nothing");
    CHECK(equal(served.root / "tree/small", home / "tree/small"));
}

TEST_CASE("a file that changes while it is read is `partial` at both ends") {
    std::promise<Outcome> received;
    const Served served([&](transfer::ServerOptions& options) {
        options.ended = [&](const transfer::ServedTransfer& ended) { received.set_value(ended.outcome()); };
    });
    const TemporaryDirectory home;
    write_file(home / "file", "stays");
    // Its size is 0, but reading gives more.
    const Outcome sent =
        transfer::send(served.push({.what = {.sources = {(home / "file").string(), "/proc/version"}}}));
    auto told = received.get_future();
    REQUIRE(told.wait_for(60s) == std::future_status::ready);
    const Outcome landed = told.get();
    CHECK(sent.failed.front().code == ErrorCode::changed);
    CHECK(landed.failed.front().code == ErrorCode::not_sent);
    for (const Outcome& outcome : {sent, landed}) {
        CHECK(outcome.files == 1);
        REQUIRE(outcome.failed.size() == 1);
        CHECK(outcome.failed.front().path == "version");
    }
}

TEST_CASE("a filter leaves out what it names") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    transfer::SendOptions options{.what = {.sources = {(home / "tree").string()}}};
    REQUIRE(options.what.rules.add({.include = false, .pattern = "*.o"}));
    const Outcome outcome = transfer::send(served.push(options));
    REQUIRE(outcome.status);
    CHECK(outcome.files == 3);
    CHECK_FALSE(fs::exists(served.root / "tree/sub/deep/object.o"));
}

TEST_CASE("a dry run tells what would be done, and does nothing") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    std::mutex mutex;
    std::vector<std::string> planned;
    transfer::SendOptions options{.what = {.sources = {(home / "tree").string()}, .dry_run = true}};
    options.planned = [&](const transfer::PlannedEntry& entry) {
        const std::lock_guard lock(mutex);
        if (entry.type == transfer::EntryType::file) planned.push_back(entry.path);
    };
    const Outcome outcome = transfer::send(served.push(options));
    INFO(why(outcome));
    REQUIRE(outcome.status);
    CHECK(outcome.dry_run);
    std::ranges::sort(planned);
    CHECK(planned == std::vector<std::string>{"tree/empty", "tree/small", "tree/sub/deep/object.o", "tree/sub/large"});
    CHECK_FALSE(fs::exists(served.root / "tree"));
}

TEST_CASE("progress comes as events and as a snapshot, and the end as an event") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree", 4'000'000);
    std::atomic<int> events{0};
    std::atomic<int> ends{0};
    transfer::Progress last;
    auto request = served.push({.what = {.sources = {(home / "tree").string()}}});
    request.events.progress_every = 100ms;
    request.events.progress = [&](const transfer::Progress& progress) {
        last = progress;
        ++events;
    };
    request.events.done = [&](const Outcome& outcome) { ends += outcome.status ? 1 : 100; };
    request.peer.connection.transport.max_rate = Rate::bits_per_second(40e6);  // takes about 0.8 s
    auto started = transfer::start_send(std::move(request));
    REQUIRE(started);
    CHECK(soon([&] { return started->stats().has_value(); }));
    std::atomic<int> called{0};
    started->when_done([&] { ++called; });
    const Outcome outcome = started->wait();
    INFO(why(outcome));
    REQUIRE(outcome.status);
    REQUIRE(soon([&] { return ends == 1 && called == 1; }));
    CHECK(events >= 2);
    CHECK(last.files_done == 4);
    CHECK(started->progress().phase == transfer::Phase::done);
    CHECK(started->connected_for().has_value());
    CHECK_FALSE(started->lost());
    started->when_done([&] { ++called; });  // the transfer is already done
    CHECK(called == 2);
}

TEST_CASE("a transfer that is cancelled says so, and the same command continues it") {
    const Served served;
    const TemporaryDirectory home;
    fs::create_directory(home / "tree");
    for (int i = 0; i < 40; ++i) {
        write_file(home / ("tree/" + std::to_string(i)), random_content(100'000, static_cast<std::uint32_t>(i)));
    }
    const transfer::SendOptions options{.what = {.sources = {(home / "tree").string()}}};
    auto started = transfer::start_send(served.push(options));
    REQUIRE(started);
    started->set_max_rate(Rate::bits_per_second(8e6));
    REQUIRE(soon([&] { return started->progress().files_done > 2; }));
    started->cancel(ErrorCode::interrupted, "enough for today");
    const Outcome cut = started->wait();
    REQUIRE_FALSE(cut.status);
    CHECK(cut.status.error().code == ErrorCode::interrupted);
    CHECK(cut.status.error().message.find("enough for today") != std::string::npos);
    REQUIRE(started->cancelled().has_value());
    CHECK_FALSE(started->stuck());
    CHECK(cut.continues);

    const Outcome whole = transfer::send(served.push(options));
    INFO(why(whole));
    REQUIRE(whole.status);
    CHECK(whole.files + whole.unchanged == 40);
    CHECK(whole.kept_bytes + whole.unchanged > 0);
    CHECK(whole.sent_bytes < 4'000'000);
    CHECK(equal(home / "tree/39", served.root / "tree/39"));
}

TEST_CASE("a receipt names what was delivered, and is checked against what stands there") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const std::string path = (home / "receipt").string();
    const auto receipt = transfer::ReceiptFile::create(path);
    REQUIRE(receipt);
    const Outcome outcome =
        transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}, .receipt = *receipt}));
    REQUIRE(outcome.status);
    REQUIRE(outcome.receipt);
    const auto good = transfer::check_receipt(read_file(path), served.root.path().string());
    REQUIRE(good);
    CHECK(good->files == 4);
    CHECK(good->different == 0);

    write_file(served.root / "tree/small", "other bytes");
    std::vector<std::string> different;
    const auto bad = transfer::check_receipt(read_file(path), served.root.path().string(),
                                             {.differs = [&](const std::string& name) { different.push_back(name); }});
    REQUIRE(bad);
    CHECK(different == std::vector<std::string>{"tree/small"});
    CHECK(transfer::check_receipt("no receipt", served.root.path().string()).error().code == ErrorCode::integrity);
}

TEST_CASE("a receipt is of one transfer, and of none that did not end in good order") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const std::string path = (home / "receipt").string();
    const transfer::SendOptions options{.what = {.sources = {(home / "tree").string()}},
                                        .receipt = *transfer::ReceiptFile::create(path)};
    REQUIRE(transfer::send(served.push(options)).status);
    const auto again = transfer::send(served.push(options));
    CHECK(again.status.error().code == ErrorCode::invalid_argument);
    fs::remove(path);
    auto nowhere = served.push({.what = options.what, .receipt = *transfer::ReceiptFile::create(path)});
    nowhere.credentials = Credentials::from_psk(std::array<std::byte, Credentials::kPskBytes>{});
    const auto refused = transfer::send(std::move(nowhere));
    CHECK_FALSE(refused.status);
    CHECK_FALSE(refused.receipt);
    CHECK_FALSE(fs::exists(path));
}

TEST_CASE("what cannot be started is told at once") {
    const Served served;
    const auto none = transfer::start_send(served.push({.what = {.sources = {"/no/such/file"}}}));
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ErrorCode::file_io);
    CHECK(transfer::send(served.push({.what = {.sources = {"/no/such/file"}}})).status.error().code ==
          ErrorCode::file_io);
}

TEST_CASE("a wrong key is refused") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree");
    auto request = served.push({.what = {.sources = {(home / "tree").string()}}});
    request.credentials = key(2);
    const Outcome outcome = transfer::send(std::move(request));
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().code == ErrorCode::authentication);
}

TEST_CASE("a stream comes out of one descriptor and goes into another") {
    const TemporaryDirectory home;
    write_file(home / "in", random_content(200'000, 3));
    const int in = ::open((home / "in").c_str(), O_RDONLY);
    const int out = ::open((home / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    REQUIRE((in >= 0 && out >= 0));
    {
        const Served served([out](transfer::ServerOptions& options) {
            options.push = [out](const transfer::Client&) { return transfer::LandingOptions{.stream_fd = out}; };
        });
        const Outcome outcome =
            transfer::send(served.push({.what = {.sources = {"-"}}, .destination = "stream", .stream_fd = in}));
        INFO(why(outcome));
        REQUIRE(outcome.status);
    }
    ::close(in);
    ::close(out);
    CHECK(equal(home / "in", home / "out"));
}

TEST_CASE("one side waits for the other, in either direction, and a selection travels by other means") {
    const TemporaryDirectory there;
    const TemporaryDirectory here;
    make_tree(there / "tree");
    auto waiting = transfer::await_sender({.listen = "127.0.0.1:0", .credentials = key()},
                                          {.directory = here.path().string(), .keep_base = true});
    REQUIRE(waiting);
    CHECK_FALSE(waiting->connected_for().has_value());
    const Outcome sent = transfer::send({.host = "127.0.0.1",
                                         .port = waiting->local_address().port,
                                         .credentials = key(),
                                         .options = {.what = {.sources = {(there / "tree").string()}}}});
    REQUIRE(sent.status);
    CHECK(waiting->wait().files == 4);
    CHECK(waiting->heard());
    CHECK(equal(there / "tree/sub/large", here / "tree/sub/large"));

    transfer::Selection selection{.sources = {"tree"}, .by_digest = true};
    REQUIRE(selection.rules.add({.include = false, .pattern = "small"}));
    const auto blocks = transfer::pack(selection);
    REQUIRE(blocks);
    auto unpacked = transfer::unpack_selection(*blocks);
    REQUIRE(unpacked);
    CHECK(unpacked->by_digest);
    unpacked->sources = {(there / "tree").string()};
    auto offering =
        transfer::await_receiver({.listen = "127.0.0.1:0", .credentials = key()}, {.what = *unpacked, .transfer = 77},
                                 {.shape = transfer::SourceShape::directory});
    REQUIRE(offering);
    const Outcome fetched = transfer::receive(
        {.host = "127.0.0.1",
         .port = offering->local_address().port,
         .credentials = key(),
         .options = {
             .what = selection, .destination = (here / "again").string(), .transfer = 77, .sender_started = true}});
    INFO(why(fetched));
    REQUIRE(fetched.status);
    CHECK(offering->wait().status);
    CHECK(fetched.files == 3);
    CHECK(equal(there / "tree/sub/large", here / "again/sub/large"));
}

TEST_CASE("nobody comes, and that ends the waiting") {
    const TemporaryDirectory here;
    auto waiting = transfer::await_sender({.listen = "127.0.0.1:0", .credentials = key(), .peer_within = 300ms},
                                          {.directory = here.path().string()});
    REQUIRE(waiting);
    CHECK(waiting->wait().status.error().code == ErrorCode::timeout);
    auto cancelled =
        transfer::await_sender({.listen = "127.0.0.1:0", .credentials = key()}, {.directory = here.path().string()});
    REQUIRE(cancelled);
    cancelled->cancel();
    CHECK(cancelled->wait().status.error().code == ErrorCode::interrupted);
}

TEST_CASE("a line is measured without a file") {
    std::atomic<bool> measured{false};
    const Served served([&](transfer::ServerOptions& options) {
        options.ended = [&](const transfer::ServedTransfer& ended) {
            measured = ended.kind() == transfer::ServedTransfer::Kind::measure;
        };
    });
    auto measure =
        transfer::start_measure({.host = "127.0.0.1", .port = served.port(), .credentials = key(), .time = 300ms});
    REQUIRE(measure);
    measure->set_max_rate(Rate::bits_per_second(50e6));
    CHECK(measure->wait().status);
    CHECK(measure->progress().bytes_sent > 0);
    REQUIRE(measure->stats().has_value());
    CHECK(measure->handshake_time().has_value());
    CHECK(measure->stats()->paths.size() == 1);
    CHECK(soon([&] { return measured.load(); }));
    CHECK(fs::is_empty(served.root.path()));
}

TEST_CASE("leftovers are cleared away, and names are made safe for a terminal") {
    const TemporaryDirectory home;
    write_file(home / ".udtx-0123456789abcdef.part", "left");
    write_file(home / "mine", "kept");
    CHECK(transfer::is_transfer_file(".udtx-0123456789abcdef.part"));
    CHECK_FALSE(transfer::is_transfer_file("mine"));
    const auto looked = transfer::clean_leftovers(home.path().string(), {.dry_run = true});
    REQUIRE(looked);
    CHECK(fs::exists(home / ".udtx-0123456789abcdef.part"));
    REQUIRE(transfer::clean_leftovers(home.path().string()));
    CHECK(fs::exists(home / "mine"));
    CHECK(transfer::escape_name("a\x1b[31m") == "a\\x1b[31m");
    CHECK_FALSE(transfer::clean_leftovers("/no/such/directory"));
}
