// A stream carries bytes in both directions: one end sends a text, the other answers with it in capitals.
#include <udtx/session.hpp>

#include <cctype>
#include <future>
#include <iostream>

using namespace std::chrono_literals;

/// All bytes until the other end finishes its direction; empty after an error.
static std::string read_all(udtx::Stream& stream) {
    for (std::string text, part(4096, '\0');;) {
        const auto count = stream.read(std::as_writable_bytes(std::span(part)), 10s);
        if (!count || *count == 0) return count ? text : "";
        text.append(part, 0, *count);
    }
}

static bool answer(udtx::Listener& listener) {
    auto session = listener.accept(10s);
    auto stream = session ? session->accept_stream(10s) : session.error();
    if (!stream) return false;
    std::string text = read_all(*stream);
    for (char& c : text) c = static_cast<char>(std::toupper(c));
    return stream->write(std::as_bytes(std::span(text)), 10s) &&
           stream->finish(10s);  // the end that sends last ends the session
}

int main() {
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    if (!listener) return 1;
    auto answered = std::async(std::launch::async, answer, std::ref(*listener));
    auto session = udtx::Session::connect("127.0.0.1", listener->local_address().port, credentials);
    auto stream = session ? session->open_stream() : session.error();
    if (!stream || !stream->write(std::as_bytes(std::span("hello", 5)), 10s) || !stream->finish(10s)) return 1;
    const std::string text = read_all(*stream);
    std::cout << text << '\n';
    return session->wait_closed(10s) && answered.get() && text == "HELLO" ? 0 : 1;
}
