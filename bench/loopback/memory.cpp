// udtx-memory: sends one stream from memory to memory through the public library.
//
// `udtx-memory recv HOST PORT [--copy]` prints "ready", then "BYTES SECONDS" from the stream's start to its end.
//
// `udtx-memory send HOST PORT BYTES [--copy]` ends when the receiver has confirmed all bytes.
//
// Both ends pass chunks. With --copy they use read() and write().
#include <udtx/core/chunk.hpp>
#include <udtx/session.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kBlockBytes = 1U << 20U;
constexpr auto kPatience = 60s;

[[noreturn]] void die(const std::string& what) {
    std::fprintf(stderr, "udtx-memory: %s\n", what.c_str());
    std::exit(1);
}

template <class T>
T need(udtx::Result<T> result) {
    if (!result) die(result.error().message);
    return std::move(result).value();
}

void need(const udtx::Result<void>& result) {
    if (!result) die(result.error().message);
}

udtx::Credentials credentials() { return udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}}); }

/// Takes the next bytes of the stream and returns their number, 0 at the end.
std::size_t take(udtx::Stream& stream, bool copy) {
    static std::vector<std::byte> room(copy ? kBlockBytes : 0);
    return copy ? need(stream.read(room, kPatience)) : need(stream.read_chunk(kPatience)).size();
}

void receive(const std::string& host, const std::string& port, bool copy) {
    auto listener = need(udtx::Listener::bind(host + ":" + port, credentials()));
    std::puts("ready");
    std::fflush(stdout);
    auto session = need(listener.accept(kPatience));
    auto stream = need(session.accept_stream(kPatience));
    const auto start = Clock::now();
    std::uint64_t bytes = 0;
    while (const std::size_t count = take(stream, copy)) bytes += count;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    need(stream.write(std::array<std::byte, 1>{}));
    need(stream.finish(kPatience));
    session.close();  // the end that sends last closes the session
    std::printf("%llu %.6f\n", static_cast<unsigned long long>(bytes), seconds);
}

void send(const std::string& host, const std::string& port, std::uint64_t bytes, bool copy) {
    auto session = need(udtx::Session::connect(host, static_cast<std::uint16_t>(std::stoul(port)), credentials(),
                                               udtx::TransportConfig()));
    auto stream = need(session.open_stream());
    const udtx::Chunk block(std::shared_ptr<std::byte[]>(new std::byte[kBlockBytes]()), kBlockBytes);
    for (std::uint64_t left = bytes; left > 0;) {
        const udtx::Chunk part = block.part(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, kBlockBytes)));
        need(copy ? stream.write(part.bytes(), kPatience) : stream.write_chunk(part, kPatience));
        left -= part.size();
    }
    need(stream.finish(kPatience));
    std::array<std::byte, 1> confirmed{};
    if (need(stream.read_full(confirmed, kPatience)) != 1) die("not confirmed");
    need(session.wait_closed(kPatience));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    const bool copy = std::erase(words, "--copy") > 0;
    if (words.size() == 3 && words[0] == "recv") {
        receive(words[1], words[2], copy);
    } else if (words.size() == 4 && words[0] == "send") {
        send(words[1], words[2], std::stoull(words[3]), copy);
    } else {
        die("recv HOST PORT, or send HOST PORT BYTES");
    }
    return 0;
}
