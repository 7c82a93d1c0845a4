// Accepts one session and streams its bytes to standard output.
//
//     stream_bytes ADDRESS:PORT KEYFILE
//
// Makes the key file if it does not exist; the sender needs a copy. Port 0 picks a free one, which is printed.
#include <udtx/session.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

int fail(const udtx::Error& error) {
    std::cerr << error.message << '\n';
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: stream_bytes ADDRESS:PORT KEYFILE\n";
        return 1;
    }
    if (!std::filesystem::exists(argv[2])) {
        if (const auto made = udtx::Credentials::write_psk_file(argv[2]); !made) return fail(made.error());
    }
    const auto credentials = udtx::Credentials::from_psk_file(argv[2]);
    if (!credentials) return fail(credentials.error());

    auto listener = udtx::Listener::bind(argv[1], *credentials);
    if (!listener) return fail(listener.error());
    std::cerr << "listening on port " << listener->local_address().port << std::endl;

    auto session = listener->accept(std::chrono::seconds(30));
    if (!session) return fail(session.error());
    auto stream = session->accept_stream(std::chrono::seconds(30));
    if (!stream) return fail(stream.error());

    std::vector<std::byte> part(1U << 16U);
    std::uint64_t total = 0;
    for (;;) {
        const auto count = stream->read(part);
        if (!count) return fail(count.error());
        if (*count == 0) break;
        std::cout.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(*count));
        total += *count;
    }
    std::cout.flush();
    const std::string answer = std::to_string(total);
    if (const auto sent = stream->write(std::as_bytes(std::span(answer))); !sent) return fail(sent.error());
    if (const auto done = stream->finish(); !done) return fail(done.error());
    return 0;
}
