// Sends a buffer and continues when the other end has all of it. Here the other end is a thread of the same program.
#include <udtx/session.hpp>

#include <future>
#include <iostream>

using namespace std::chrono_literals;

static int failed(const udtx::Error& error) {
    std::cerr << error.message << '\n';
    return 1;
}

static int send(std::uint16_t port, const udtx::Credentials& credentials, const std::vector<std::byte>& buffer) {
    auto session = udtx::Session::connect("127.0.0.1", port, credentials);
    if (!session) return failed(session.error());
    auto stream = session->open_stream();
    if (!stream) return failed(stream.error());
    if (const auto sent = stream->write(buffer, 10s); !sent) return failed(sent.error());
    const auto done = stream->finish(10s);  // waits until the other end has acknowledged every byte
    return done ? 0 : failed(done.error());
}

int main() {
    // Both ends need the same key. Real programs read it from a file: Credentials::from_psk_file().
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    if (!listener) return failed(listener.error());
    const std::vector<std::byte> buffer(8'000'000, std::byte{7});
    auto sender = std::async(std::launch::async, send, listener->local_address().port, credentials, buffer);

    auto session = listener->accept(10s);
    if (!session) return failed(session.error());
    auto stream = session->accept_stream(10s);
    if (!stream) return failed(stream.error());
    std::vector<std::byte> arrived, part(65536);
    auto n = stream->read(part, 10s);
    for (; n && *n > 0; n = stream->read(part, 10s)) arrived.insert(arrived.end(), part.data(), part.data() + *n);
    return sender.get() == 0 && arrived == buffer ? 0 : failed({.message = "not all bytes came"});
}
