// Sends one buffer and waits until the other side has it.
//
//     send_buffer HOST PORT KEYFILE
//
// The other side is stream_bytes, which also makes the key file.
#include <udtx/session.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: send_buffer HOST PORT KEYFILE\n";
        return 1;
    }
    const auto credentials = udtx::Credentials::from_psk_file(argv[3]);
    if (!credentials) {
        std::cerr << credentials.error().message << '\n';
        return 1;
    }
    const auto port = static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 10));
    auto session = udtx::Session::connect(argv[1], port, *credentials);
    if (!session) {
        std::cerr << session.error().message << '\n';
        return 1;
    }
    auto stream = session->open_stream();
    if (!stream) {
        std::cerr << stream.error().message << '\n';
        return 1;
    }

    const std::vector<std::byte> buffer(8'000'000, std::byte{'x'});
    auto done = stream->write(buffer);
    if (done) done = stream->finish();  // returns when every byte has been acknowledged
    if (!done) {
        std::cerr << done.error().message << '\n';
        return 1;
    }

    // Streams carry bytes both ways: the receiver says how much it wrote.
    std::array<std::byte, 64> answer{};
    const auto count = stream->read(answer);
    if (!count) {
        std::cerr << count.error().message << '\n';
        return 1;
    }
    std::cout << "the receiver wrote " << std::string(reinterpret_cast<const char*>(answer.data()), *count)
              << " bytes\n";
    // The side that sends last closes: an end from here could overtake our acknowledgement of the answer.
    (void)session->wait_closed(std::chrono::seconds(10));
    return 0;
}
