// The receiver's table of its server's transfers: one watched transfer for each, until the server drops it.
#include "serve/transfers.hpp"

#include <unistd.h>

#include <array>
#include <thread>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "udtx/transfer/transfer.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace udtx::test;
using namespace std::chrono_literals;

namespace {

Credentials shared_key() {
    std::array<std::byte, Credentials::kPskBytes> bytes{};
    return Credentials::from_psk(bytes);
}

/// A server and one sender that waits for more input.
struct TableBench {
    TableBench() {
        command.directory = (temp / "dir").string();
        fs::create_directories(command.directory);
        REQUIRE(::pipe(pipe.data()) == 0);
        transfer::ServerOptions options{.listen = "127.0.0.1:0", .credentials = shared_key()};
        options.push = [this](const transfer::Client& client) { return access.push(client); };
        auto opened = transfer::Server::open(std::move(options));
        REQUIRE(opened);
        server.emplace(std::move(*opened));
        REQUIRE(server->start());
        transfer::SendRequest request{
            .host = "127.0.0.1", .port = server->local_address().port, .credentials = shared_key()};
        request.options.what.sources = {"-"};
        request.options.destination = "name";
        request.options.stream_fd = pipe[0];
        auto started = transfer::start_send(std::move(request));
        REQUIRE(started);
        sender.emplace(std::move(*started));
        for (int i = 0; i < 600 && server->transfers().empty(); ++i) std::this_thread::sleep_for(50ms);
        REQUIRE(server->transfers().size() == 1);
    }
    ~TableBench() {
        sender.reset();
        for (const int fd : pipe) ::close(fd);
    }
    TableBench(const TableBench&) = delete;
    TableBench& operator=(const TableBench&) = delete;

    TemporaryDirectory temp;
    Terminal terminal{STDERR_FILENO};
    Log log{"udtx-recv", terminal, Log::Verbosity::quiet};
    RecvCommand command;
    AuthorizedKeys keys;
    Access access{command, keys};
    std::array<int, 2> pipe{};
    std::optional<transfer::Server> server;
    std::optional<transfer::Transfer> sender;
    TransferTable table{access, log, Rate::bits_per_second(5e6), [this] { return server->transfers(); }};
};

}  // namespace

TEST_CASE("Whoever asks gets the same of a transfer, as long as the server has it") {
    TableBench b;
    const auto first = b.table.under_way();
    REQUIRE(first.size() == 1);
    CHECK(b.table.under_way() == first);
    CHECK(b.table.find(b.server->transfers().front()) == first.front());
    CHECK(first.front()->peer().starts_with("127.0.0.1:"));
    CHECK(first.front()->who() == first.front()->peer());
    CHECK(first.front()->directory() == b.command.directory);
    b.server->cancel();
    CHECK(b.server->wait(60s));
    CHECK(b.table.under_way().empty());
    CHECK(first.front()->transfer().done());
}

TEST_CASE("What was told of is under way no more, although the server still has it") {
    TableBench b;
    const auto watched = b.table.under_way().front();
    watched->set_told();
    CHECK(b.table.under_way().empty());
    CHECK(b.table.find(b.server->transfers().front()) == watched);
}

TEST_CASE("A transfer shows the cap that it keeps to") {
    TableBench b;
    const auto watched = b.table.under_way().front();
    watched->look({});
    CHECK(watched->observed().cap.bps() == 5e6);
    watched->keep_below(Rate::bits_per_second(1e6));
    watched->look({});
    CHECK(watched->observed().cap.bps() == 1e6);
    CHECK_FALSE(watched->stands_still());
}
