// Serves a directory until SIGINT or SIGTERM, or with `once` for one transfer. Usage:
//   server HOST:PORT KEY_FILE DIRECTORY [once]
#include <signal.h>
#include <unistd.h>
#include <udtx/transfer/server.hpp>

#include <filesystem>
#include <iostream>

using namespace udtx::transfer;

static int failed(const udtx::Error& error) { return std::cerr << error.message << '\n', 1; }

int main(int argc, char** argv) {
    if (argc < 4) return failed({.message = "server HOST:PORT KEY_FILE DIRECTORY [once]"});
    if (!std::filesystem::exists(argv[2])) (void)udtx::Credentials::write_psk_file(argv[2]);
    const auto key = udtx::Credentials::from_psk_file(argv[2]);
    if (!key) return failed(key.error());
    sigset_t signals{};
    for (int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before the first thread starts: threads inherit it
    ServerOptions options{.listen = argv[1], .credentials = *key};
    options.push = [=](const Client&) { return LandingOptions{.directory = argv[3]}; };
    options.pull = [=](const Client&, const Selection&) { return OfferOptions{.directory = argv[3]}; };
    options.ended = [once = argc > 4](const ServedTransfer& ended) {
        const Outcome outcome = ended.outcome();
        const bool pull = ended.kind() == ServedTransfer::Kind::pull;
        std::cout << to_string(ended.client().address) << (pull ? " fetched " : " sent ") << outcome.files
                  << " files: " << (outcome.status ? "complete" : outcome.status.error().message) << std::endl;
        if (once) kill(getpid(), SIGTERM);
    };
    auto server = Server::open(std::move(options));
    const auto started = server ? server->start() : server.error();
    if (!started) return failed(started.error());
    std::cout << "listening on " << to_string(server->local_address()) << std::endl;
    sigwaitinfo(&signals, nullptr);
    server->cancel();  // stops running transfers cleanly, so that they can be continued
    return server->wait(std::chrono::seconds(10)) ? 0 : 1;
}
