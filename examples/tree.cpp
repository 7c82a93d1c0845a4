// Sends or fetches a directory and shows the progress. Usage:
//   tree send|fetch HOST:PORT KEY_FILE SOURCE DESTINATION
#include <udtx/log.hpp>
#include <udtx/transfer/outcome.hpp>
#include <udtx/transfer/transfer.hpp>

#include <iostream>

using namespace udtx::transfer;

static int failed(const udtx::Error& error) { return std::cerr << error.message << '\n', 1; }

/// Runs on a thread of the transfer.
static void show(const Progress& progress) {
    std::cout << udtx::bytes_text(progress.bytes_done) << " of " << (progress.totals_final ? "" : "at least ")
              << udtx::bytes_text(progress.bytes_total) << '\n';
}

template <class Request>  // SendRequest or ReceiveRequest
static Request request(const udtx::HostPort& server, const udtx::Credentials& key, char** places) {
    return {.host = server.host,
            .port = server.port,
            .credentials = key,
            .options = {.what = {.sources = {places[0]}}, .destination = places[1]},
            .events = {.progress = show}};
}

int main(int argc, char** argv) {
    if (argc != 6) return failed({.message = "tree send|fetch HOST:PORT KEY_FILE SOURCE DESTINATION"});
    const auto server = udtx::parse_host_port(argv[2]);
    if (!server) return failed(server.error());
    const auto key = udtx::Credentials::from_psk_file(argv[3]);
    if (!key) return failed(key.error());
    const Outcome outcome = argv[1] == std::string("send") ? send(request<SendRequest>(*server, *key, argv + 4))
                                                           : receive(request<ReceiveRequest>(*server, *key, argv + 4));
    for (const auto& file : outcome.failed)  // a name may contain terminal control bytes
        std::cerr << escape_name(file.path) << ": " << escape_line(file.reason) << '\n';
    std::cout << outcome.files << " files delivered, " << outcome.unchanged << " were there already\n";
    return outcome.status ? 0 : failed(outcome.status.error());
}
