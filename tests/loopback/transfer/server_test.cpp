// A server made with the public headers: who may connect, what a client may do, which transfers run, and how it ends.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transfer_fixture.hpp"

using namespace udtx;
using namespace udtx::test;
using transfer::Outcome;
using transfer::ServedTransfer;

namespace {

bool becomes_true(const std::function<bool()>& reached) {
    for (int i = 0; i < 1200 && !reached(); ++i) std::this_thread::sleep_for(50ms);
    return reached();
}

/// A push of home / "tree" at 20 Mbit/s.
transfer::SendRequest slow_push(const Served& served, const TemporaryDirectory& home) {
    auto request = served.push({.what = {.sources = {(home / "tree").string()}}});
    request.peer.connection.transport.max_rate = Rate::bits_per_second(20e6);
    return request;
}

}  // namespace

TEST_CASE("a server that lets nothing be brought or fetched says so") {
    const Served served([](transfer::ServerOptions& options) {
        options.push = nullptr;
        options.pull = [](const transfer::Client&,
                          const transfer::Selection& wanted) -> Result<transfer::OfferOptions> {
            return Error{ErrorCode::refused, wanted.sources.front() + " is not for everybody"};
        };
    });
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const Outcome pushed = transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}}));
    REQUIRE_FALSE(pushed.status);
    CHECK(pushed.status.error().code == ErrorCode::refused);
    const Outcome pulled =
        transfer::receive(served.pull({.what = {.sources = {"secret"}}, .destination = (home / "in").string()}));
    REQUIRE_FALSE(pulled.status);
    CHECK(pulled.status.error().code == ErrorCode::refused);
    CHECK(pulled.status.error().message.find("secret is not for everybody") != std::string::npos);
}

TEST_CASE("a client that is not admitted is turned away with the reason") {
    std::mutex mutex;
    std::vector<std::string> turned_away;
    const Served served([&](transfer::ServerOptions& options) {
        options.admit = [](const transfer::Client&) -> Result<transfer::Admission> {
            return Error{ErrorCode::refused, "not today"};
        };
        options.turned_away = [&](const transfer::Client&, const Error& why) {
            const std::lock_guard lock(mutex);
            turned_away.push_back(why.message);
        };
    });
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const Outcome outcome = transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}}));
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().code == ErrorCode::refused);
    const std::lock_guard lock(mutex);
    CHECK(turned_away == std::vector<std::string>{"not today"});
}

TEST_CASE("a client whose rate is nothing is turned away") {
    const Served served([](transfer::ServerOptions& options) {
        options.admit = [](const transfer::Client&) { return transfer::Admission{.max_rate = Rate()}; };
    });
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const Outcome outcome = transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}}));
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().message.find("above zero") != std::string::npos);
}

TEST_CASE("a client is known by its key") {
    const TemporaryDirectory home;
    REQUIRE(Credentials::write_identity(home / "server"));
    REQUIRE(Credentials::write_identity(home / "client"));
    auto server_key = Credentials::from_identity_file(home / "server");
    auto client_key = Credentials::from_identity_file(home / "client");
    REQUIRE((server_key && client_key));
    REQUIRE(server_key->trust(*client_key->public_key()));
    REQUIRE(client_key->trust(*server_key->public_key()));
    std::mutex mutex;
    std::optional<transfer::Client> seen;
    const Served served([&](transfer::ServerOptions& options) {
        options.credentials = *server_key;
        options.ended = [&](const ServedTransfer& ended) {
            const std::lock_guard lock(mutex);
            seen = ended.client();
        };
    });
    make_tree(home / "tree");
    auto request = served.push({.what = {.sources = {(home / "tree").string()}}});
    request.credentials = *client_key;
    REQUIRE(transfer::send(std::move(request)).status);
    REQUIRE(becomes_true([&] {
        const std::lock_guard lock(mutex);
        return seen.has_value();
    }));
    REQUIRE(seen->key.has_value());
    CHECK(*seen->key == *client_key->public_key());
    CHECK(seen->identity != 0);
    CHECK(seen->number == 1);
}

TEST_CASE("what is under way is listed, slowed down and ended one by one") {
    const Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree", 20'000'000);
    auto sending = transfer::start_send(slow_push(served, home));
    REQUIRE(sending);
    REQUIRE(becomes_true([&] {
        const auto all = served.server->transfers();
        return all.size() == 1 && all.front().kind() == ServedTransfer::Kind::push && all.front().stats() &&
               all.front().progress().bytes_done > 0;
    }));
    const ServedTransfer taken = served.server->transfers().front();
    CHECK_FALSE(taken.done());
    CHECK_FALSE(taken.sends());
    CHECK(taken.client().address.port != 0);
    const auto goes_on = [&] {
        const std::uint64_t before = taken.progress().bytes_done;
        return becomes_true([&] { return taken.progress().bytes_done > before + 1'000'000; });
    };
    taken.set_max_rate(Rate());
    sending->set_max_rate(Rate::bits_per_second(-1));
    CHECK(goes_on());
    taken.set_max_rate(Rate::bits_per_second(1e6));
    taken.cancel(ErrorCode::interrupted, "this one ends");
    const Outcome outcome = sending->wait();
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().message.find("this one ends") != std::string::npos);
    CHECK(becomes_true([&] { return served.server->transfers().empty(); }));
    CHECK(taken.done());
}

TEST_CASE("what a server has served may be asked for when it is gone") {
    std::mutex mutex;
    std::optional<ServedTransfer> kept;
    {
        const Served served([&](transfer::ServerOptions& options) {
            options.ended = [&](const ServedTransfer& ended) {
                const std::lock_guard lock(mutex);
                kept = ended;
            };
        });
        const TemporaryDirectory home;
        make_tree(home / "tree");
        REQUIRE(transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}})).status);
        REQUIRE(becomes_true([&] {
            const std::lock_guard lock(mutex);
            return kept.has_value();
        }));
    }
    CHECK(kept->outcome().files == 4);
    CHECK(kept->kind() == ServedTransfer::Kind::push);
    kept->set_max_rate(Rate::bits_per_second(1e6));
    kept->cancel(ErrorCode::interrupted, "too late");
    CHECK(kept->done());
}

TEST_CASE("the log of a server tells of handshakes that failed, and of the paths of its clients") {
    std::mutex mutex;
    std::vector<std::string> lines;
    const Served served([&](transfer::ServerOptions& options) {
        options.log = [&](LogLevel, const std::string& text) {
            const std::lock_guard lock(mutex);
            lines.push_back(text);
        };
    });
    const auto has = [&](const std::string& part) {
        const std::lock_guard lock(mutex);
        return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(part) != line.npos; });
    };
    const TemporaryDirectory home;
    make_tree(home / "tree", 20'000'000);
    auto stranger = served.push({.what = {.sources = {(home / "tree").string()}}});
    stranger.credentials = key(2);
    CHECK_FALSE(transfer::send(std::move(stranger)).status);
    CHECK(becomes_true([&] { return has("127.0.0.1:"); }));
    CHECK_FALSE(has("path 1"));
    auto request = slow_push(served, home);
    request.peer.paths = {{.local = "127.0.0.1"}, {.local = "127.0.0.2"}};
    auto sending = transfer::start_send(std::move(request));
    REQUIRE(sending);
    CHECK(becomes_true([&] { return has(": path 1 from "); }));
    sending->cancel();
}

TEST_CASE("a client that a server has given up knows that it may come back") {
    Served served([](transfer::ServerOptions& options) { options.connection.patience = 300ms; });
    const TemporaryDirectory home;
    make_tree(home / "tree", 2'000'000);
    auto sending = transfer::start_send(slow_push(served, home));
    REQUIRE(sending);
    REQUIRE(becomes_true([&] { return sending->progress().bytes_done > 0; }));
    sending->set_max_rate(Rate::bits_per_second(1000));  // ten seconds a packet
    const Outcome outcome = sending->wait();
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().code == ErrorCode::timeout);
    CHECK(sending->lost());
    CHECK_FALSE(sending->cancelled());
}

TEST_CASE("a server that is drained lets nobody in, and waits for who is in") {
    Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree", 2'000'000);
    auto sending = transfer::start_send(slow_push(served, home));
    REQUIRE(sending);
    REQUIRE(becomes_true([&] { return !served.server->transfers().empty(); }));
    CHECK_FALSE(served.server->wait(1ms));
    served.server->drain();
    const Outcome late = transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}}));
    REQUIRE_FALSE(late.status);
    CHECK(late.status.error().code == ErrorCode::going_away);
    const Outcome outcome = sending->wait();
    CHECK(outcome.status);
    CHECK(served.server->wait(60s));
    served.server->stop();
}

TEST_CASE("a server with other keys ends the transfers of removed ones, and serves the new ones") {
    const TemporaryDirectory home;
    make_tree(home / "tree", 8'000'000);
    const std::size_t threads = GENERATE(1U, 3U);
    INFO(threads << " protocol threads");
    Served served([&](transfer::ServerOptions& options) { options.protocol_threads = threads; });
    auto slow = transfer::start_send(slow_push(served, home));
    REQUIRE(slow);
    REQUIRE(becomes_true([&] { return slow->progress().bytes_done > 0; }));
    SECTION("the same key changes nothing") {
        REQUIRE(served.server->set_credentials(key()));
        slow->set_max_rate(Rate::infinite());
        CHECK(slow->wait().status.ok());
    }
    SECTION("another key") {
        REQUIRE(served.server->set_credentials(key(2)));
        const Outcome ended = slow->wait();
        REQUIRE_FALSE(ended.status);
        CHECK(ended.status.error().code == ErrorCode::authentication);
        CHECK_FALSE(slow->lost());
        for (int i = 0; i < 4; ++i) {
            transfer::SendRequest old = served.push({.what = {.sources = {(home / "tree/small").string()}}});
            transfer::SendRequest fresh = served.push({.what = {.sources = {(home / "tree/small").string()}}});
            fresh.credentials = key(2);
            const Outcome refused = transfer::send(std::move(old));
            REQUIRE_FALSE(refused.status);
            CHECK(refused.status.error().code == ErrorCode::authentication);
            CHECK(transfer::send(std::move(fresh)).status.ok());
        }
    }
}

TEST_CASE("each file that lands, leaves or fails is an event") {
    std::mutex mutex;
    std::vector<std::string> events;
    const Served served([&](transfer::ServerOptions& options) {
        options.file = [&](const transfer::Client& client, const transfer::FileEvent& file) {
            constexpr std::array kWords{"delivered", "sent", "failed"};
            const std::lock_guard lock(mutex);
            CHECK(client.number > 0);
            events.push_back(std::string(kWords.at(static_cast<std::size_t>(file.result))) + " " + file.path + " " +
                             std::to_string(file.bytes));
        };
    });
    const auto told = [&] {
        const std::lock_guard lock(mutex);
        std::vector<std::string> all = std::exchange(events, {});
        std::ranges::sort(all);
        return all;
    };
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const std::string source = (home / "tree").string();
    REQUIRE(transfer::send(served.push({.what = {.sources = {source}}, .destination = "in"})).status.ok());
    CHECK(told() == std::vector<std::string>{"delivered in/tree/empty 0", "delivered in/tree/small 11",
                                             "delivered in/tree/sub/deep/object.o 1000",
                                             "delivered in/tree/sub/large 300000"});
    // An unchanged file has no event, and a dry run has none at all.
    write_file(home / "tree" / "small", "other bytes!");
    fs::create_directory_symlink("small", home / "tree" / "link");
    REQUIRE(
        transfer::send(served.push({.what = {.sources = {source}, .dry_run = true}, .destination = "in"})).status.ok());
    CHECK(told().empty());
    REQUIRE(transfer::send(served.push({.what = {.sources = {source}}, .destination = "in"})).status.ok());
    CHECK(told() == std::vector<std::string>{"delivered in/tree/link 0", "delivered in/tree/small 12"});
    // A directory with entries stands where a file is to be.
    fs::create_directories(served.root / "in/tree/empty.d/x");
    write_file(home / "tree" / "empty.d", "");
    CHECK_FALSE(transfer::send(served.push({.what = {.sources = {source}}, .destination = "in"})).status.ok());
    CHECK(told() == std::vector<std::string>{"failed in/tree/empty.d 0"});
    CHECK(transfer::receive(served.pull({.what = {.sources = {"in/tree/sub"}}, .destination = (home / "out").string()}))
              .status.ok());
    CHECK(told() == std::vector<std::string>{"sent in/tree/sub/deep/object.o 1000", "sent in/tree/sub/large 300000"});
}

TEST_CASE("a server that is cancelled ends what is under way") {
    Served served;
    const TemporaryDirectory home;
    make_tree(home / "tree", 20'000'000);
    auto sending = transfer::start_send(slow_push(served, home));
    REQUIRE(sending);
    REQUIRE(becomes_true([&] { return sending->progress().bytes_done > 0; }));
    served.server->cancel();
    CHECK(sending->wait().status.error().code == ErrorCode::interrupted);
    CHECK(served.server->wait(60s));
}

TEST_CASE("a client has no more connections than one may, and all have no more than there is room for") {
    transfer::ServerLimits limits;
    std::string said;
    SECTION("one") {
        limits.connections_of_one = 1;
        said = "limit of connections (1)";
    }
    SECTION("all") {
        limits.connections = 1;
        said = "limit of connections";
    }
    std::atomic<int> turned_away{0};
    const Served served([&](transfer::ServerOptions& options) {
        options.limits = limits;
        options.turned_away = [&](const transfer::Client&, const Error&) { ++turned_away; };
    });
    const TemporaryDirectory home;
    make_tree(home / "tree", 20'000'000);
    auto first = transfer::start_send(slow_push(served, home));
    REQUIRE(first);
    REQUIRE(becomes_true([&] { return first->progress().bytes_done > 0; }));
    const Outcome second = transfer::send(served.push({.what = {.sources = {(home / "tree/small").string()}}}));
    REQUIRE_FALSE(second.status);
    CHECK(second.status.error().message.find(said) != std::string::npos);
    CHECK(turned_away == 1);
    CHECK_FALSE(first->done());
    first->cancel();
    CHECK(becomes_true([&] { return served.server->transfers().empty(); }));
    CHECK(transfer::send(served.push({.what = {.sources = {(home / "tree/small").string()}}})).status);
}

TEST_CASE("transfers of a client that make the server remember more than one may are ended") {
    const Served served([](transfer::ServerOptions& options) { options.limits.held_by_one = 1; });
    const TemporaryDirectory home;
    make_tree(home / "tree", 20'000'000);
    const Outcome outcome = transfer::send(slow_push(served, home));
    REQUIRE_FALSE(outcome.status);
    CHECK(outcome.status.error().code == ErrorCode::refused);
    CHECK(outcome.status.error().message.find("more memory of the server than one key may have (1 B)") !=
          std::string::npos);
}

TEST_CASE("the end of a transfer is told again where there was no memory to tell it with") {
    std::atomic<int> told{0};
    const Served served([&](transfer::ServerOptions& options) {
        options.ended = [&](const ServedTransfer&) {
            if (++told < 3) throw std::bad_alloc();
        };
    });
    const TemporaryDirectory home;
    make_tree(home / "tree");
    REQUIRE(transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}})).status);
    CHECK(becomes_true([&] { return served.server->transfers().empty(); }));
    CHECK(told == 3);
}

TEST_CASE("a quota bounds what clients bring") {
    const Served served([](transfer::ServerOptions& options) {
        options.push = [push = options.push, quota = transfer::Quota(100'000)](const transfer::Client& client) {
            auto landing = push(client);
            if (landing) landing->quota = quota;
            return landing;
        };
    });
    const TemporaryDirectory home;
    make_tree(home / "tree", 500'000);
    const Outcome outcome = transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}}));
    REQUIRE_FALSE(outcome.status);
    REQUIRE_FALSE(outcome.failed.empty());
    CHECK(outcome.failed.front().path == "tree/sub/large");
}

TEST_CASE("a directory for a client that nobody has made is named, with what is to be done") {
    const Served served([](transfer::ServerOptions& options) {
        options.push = [whole = options.push](const transfer::Client& client) {
            auto landing = whole(client);
            landing->below = "alice";
            return landing;
        };
        options.pull = [whole = options.pull](const transfer::Client& client, const transfer::Selection& wanted) {
            auto offer = whole(client, wanted);
            offer->below = "alice";
            return offer;
        };
    });
    const TemporaryDirectory home;
    make_tree(home / "tree");
    const auto push = [&] { return transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}})); };
    const auto pull = [&] {
        return transfer::receive(served.pull({.what = {.sources = {"tree"}}, .destination = (home / "copy").string()}));
    };
    for (const Outcome& outcome : {push(), pull()}) {
        REQUIRE_FALSE(outcome.status);
        CHECK(outcome.status.error().code == ErrorCode::file_io);
        CHECK(outcome.status.error().message.find("'alice'") != std::string::npos);
        CHECK(outcome.status.error().message.find("create it") != std::string::npos);
    }
    fs::create_directory(served.root / "alice");
    CHECK(push().status);
    CHECK(equal(home / "tree/small", served.root / "alice/tree/small"));
    CHECK(pull().status);
}

TEST_CASE("a server is started once, and one that was not started has nothing to wait for") {
    Served served;
    const auto again = served.server->start();
    REQUIRE_FALSE(again);
    CHECK(again.error().code == ErrorCode::invalid_argument);
    const TemporaryDirectory home;
    make_tree(home / "tree");
    CHECK(transfer::send(served.push({.what = {.sources = {(home / "tree").string()}}})).status);
    served.server->cancel();
    CHECK(served.server->wait(60s));
    served.server->stop();
    CHECK(served.server->start().error().code == ErrorCode::invalid_argument);

    const bool cancelled = GENERATE(false, true);
    auto idle = transfer::Server::open({.listen = "127.0.0.1:0", .credentials = key()});
    REQUIRE(idle);
    if (cancelled) idle->cancel();
    idle->wait();
    CHECK(idle->wait(60s));
    idle->stop();
    REQUIRE(idle->start());
    CHECK(idle->wait(1s) == cancelled);
}

TEST_CASE("what is served has to be there") {
    const TemporaryDirectory home;
    fs::create_directory(home / "in");
    fs::create_symlink(home / "in", home / "link");
    CHECK(transfer::check_served(home.path().string(), "in", true));
    const auto absent = transfer::check_served(home.path().string(), "nothing", false);
    REQUIRE_FALSE(absent);
    CHECK(absent.error().system_error == ENOENT);
    CHECK_FALSE(transfer::check_served(home.path().string(), "link", true));
    CHECK(transfer::default_limits().connections > 0);
    CHECK_FALSE(transfer::Server::open({.listen = "not an address", .credentials = key()}));
}
