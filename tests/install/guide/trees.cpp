// The pieces of code in docs/using/library.md about trees of files, run one after the other.
#include <udtx/log.hpp>
#include <udtx/transfer/async.hpp>
#include <udtx/transfer/outcome.hpp>
#include <udtx/transfer/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace transfer = udtx::transfer;

#define CHECK(what) \
    if (!(what)) std::cerr << "trees.cpp:" << __LINE__ << ": " #what "\n", std::exit(1)

static udtx::Result<transfer::Server> serving(const udtx::Credentials& key) {
    transfer::ServerOptions options{.listen = "127.0.0.1:0", .credentials = key};
    options.push = [](const transfer::Client&) { return transfer::LandingOptions{.directory = "served"}; };
    options.pull = [](const transfer::Client&,
                      const transfer::Selection& wanted) -> udtx::Result<transfer::OfferOptions> {
        if (wanted.by_digest) return udtx::Error{udtx::ErrorCode::refused, "this server compares no contents"};
        return transfer::OfferOptions{.directory = "served"};
    };
    options.ended = [](const transfer::ServedTransfer& ended) {
        const auto outcome = ended.outcome();
        std::cout << to_string(ended.client().address) << ": " << outcome.files << " files, "
                  << (outcome.status ? "complete" : outcome.status.error().message) << '\n';
    };
    auto server = transfer::Server::open(std::move(options));
    if (!server) return server.error();
    if (const auto started = server->start(); !started) return started.error();
    return server;
}

static transfer::Outcome send_photos(std::uint16_t port, const udtx::Credentials& key) {
    transfer::SendRequest request{.host = "127.0.0.1", .port = port, .credentials = key};
    request.options.what.sources = {"photos"};  // arrives as backup/photos
    request.options.destination = "backup";
    const auto outcome = transfer::send(request);
    if (!outcome.status) std::cerr << outcome.status.error().message << '\n';
    for (const auto& file : outcome.failed)
        std::cerr << transfer::escape_name(file.path) << ": " << transfer::escape_line(file.reason) << '\n';
    return outcome;
}

static transfer::Outcome fetch_photos(std::uint16_t port, const udtx::Credentials& key) {
    transfer::ReceiveRequest request{.host = "127.0.0.1", .port = port, .credentials = key};
    request.options.what.sources = {"backup/photos"};
    request.options.destination = "copy";
    return transfer::receive(request);
}

static udtx::Result<transfer::Selection> all_but_drafts() {
    transfer::Selection what{.sources = {"photos/"}, .preserve = true, .attributes = true};
    const auto added = what.rules.add({.include = false, .pattern = "*.draft"});
    if (!added) return added.error();
    return what;
}

static udtx::Result<transfer::Outcome> watched(transfer::SendRequest request) {
    auto sending = transfer::start_send(std::move(request));
    if (!sending) return sending.error();
    while (!sending->wait(500ms)) {
        const auto progress = sending->progress();
        std::cout << udtx::bytes_text(progress.bytes_done) << " of " << udtx::bytes_text(progress.bytes_total) << '\n';
    }
    return sending->outcome();
}

static udtx::Result<transfer::Outcome> told(transfer::SendRequest request) {
    request.events.progress = [](const transfer::Progress& progress) {
        std::cout << progress.files_done << " of " << progress.files_total << " files\n";
    };
    request.events.progress_every = 1s;
    request.events.done = [](const transfer::Outcome& outcome) { std::cout << outcome.files << " delivered\n"; };
    auto sending = transfer::start_send(std::move(request));
    if (!sending) return sending.error();
    return sending->wait();
}

static bool may_come_back(const udtx::Error& error) {
    using enum udtx::ErrorCode;
    return error.code == timeout || error.code == network || error.code == no_route || error.code == udp_blocked;
}

static transfer::Outcome patiently(transfer::SendRequest request) {
    request.options.sent.emplace();  // one object for all connections
    auto outcome = transfer::send(request);
    for (int i = 0; i < 10 && !outcome.status && may_come_back(outcome.status.error()); ++i) {
        std::this_thread::sleep_for(2s);
        outcome = transfer::send(request);
    }
    return outcome;
}

static transfer::Outcome cut_short(transfer::SendRequest request) {
    auto sending = transfer::start_send(request);
    CHECK(sending);
    sending->set_max_rate(udtx::Rate::bits_per_second(8e6));
    while (sending->progress().bytes_done == 0) std::this_thread::sleep_for(10ms);
    sending->cancel();
    const auto outcome = sending->wait();  // interrupted, or complete if the transfer ended first
    return outcome;
}

static udtx::Result<transfer::CheckCounts> with_receipt(transfer::SendRequest request) {
    const auto receipt = transfer::ReceiptFile::create("receipt");
    if (!receipt) return receipt.error();
    request.options.receipt = *receipt;
    const auto outcome = transfer::send(request);
    if (!outcome.receipt) return outcome.receipt.error();
    std::ifstream file("receipt");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return transfer::check_receipt(text, "served/backup",
                                   {.tell = [](const auto& line) { std::cout << line << '\n'; }});
}

static asio::awaitable<transfer::Outcome> send_it(transfer::SendRequest request) {
    const auto executor = co_await asio::this_coro::executor;
    co_return co_await transfer::async_send(executor, std::move(request), asio::use_awaitable);
}

static bool in_a_coroutine(const transfer::SendRequest& request) {
    asio::io_context context;
    auto outcome = asio::co_spawn(context, send_it(request), asio::use_future);
    context.run();
    return outcome.get().status.ok();
}

static void ended_in_good_order(transfer::Server& server) {
    server.drain();  // refuses new clients
    if (!server.wait(60s)) server.cancel();
    CHECK(server.wait(10s));
}

static void write(const std::string& path, std::size_t bytes) { std::ofstream(path) << std::string(bytes, 'x'); }

int main() {
    char directory[] = "/tmp/udtx-trees-XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    std::filesystem::current_path(directory);
    std::filesystem::create_directories("photos/2024");
    std::filesystem::create_directory("served");
    write("photos/2024/a", 3'000'000);
    write("photos/b.draft", 10);
    CHECK(udtx::Credentials::write_psk_file("key"));
    const auto key = udtx::Credentials::from_psk_file("key");
    CHECK(key);
    auto server = serving(*key);
    CHECK(server);
    const auto port = server->local_address().port;

    transfer::SendRequest request{.host = "127.0.0.1", .port = port, .credentials = *key};
    request.options.destination = "backup";
    request.options.what.sources = {"photos"};
    const auto cut = cut_short(request);
    CHECK(!cut.status && cut.status.error().code == udtx::ErrorCode::interrupted);
    const auto sent = send_photos(port, *key);
    CHECK(sent.status && sent.files + sent.unchanged == 2);
    CHECK(fetch_photos(port, *key).files == 2);
    CHECK(std::filesystem::file_size("copy/2024/a") == 3'000'000);

    const auto counts = with_receipt(request);
    CHECK(counts && counts->different == 0);
    CHECK(in_a_coroutine(request));
    CHECK(patiently(request).unchanged == 2);
    const auto what = all_but_drafts();
    CHECK(what);
    request.options.what = *what;
    request.options.destination = "contents";
    const auto outcome = watched(request);
    CHECK(outcome && outcome->files == 1 && !std::filesystem::exists("served/contents/b.draft"));
    const auto again = told(request);
    CHECK(again && again->unchanged == 1);
    ended_in_good_order(*server);
    std::filesystem::remove_all(directory);
}
