// Helpers of the session tests: keys, a connected pair of sessions, test bytes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "io/udp_socket.hpp"
#include "test/catch.hpp"
#include "udtx/session.hpp"

namespace udtx::test {

using namespace std::chrono_literals;

inline Credentials psk(unsigned char fill) {
    std::array<std::byte, Credentials::kPskBytes> key;
    key.fill(static_cast<std::byte>(fill));
    return Credentials::from_psk(key);
}

inline std::vector<std::byte> bytes_of(std::uint64_t seed, std::size_t size) {
    std::vector<std::byte> result(size);
    for (std::byte& byte : result) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        byte = static_cast<std::byte>(seed >> 56U);
    }
    return result;
}

inline std::vector<std::byte> read_all(Stream& stream) {
    std::vector<std::byte> result;
    std::vector<std::byte> part(100'000);
    for (;;) {
        const auto count = stream.read(part);
        // On any thread; REQUIRE works on the main thread only
        if (!count) throw std::runtime_error(count.error().message);
        if (*count == 0) return result;
        result.insert(result.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*count));
    }
}

inline bool has_ipv6() {
    Address loopback;
    loopback.family = Address::Family::v6;
    loopback.ip[15] = 1;
    return io::open_portable_socket(loopback, {}).ok();
}

struct Pair {
    Listener listener;
    Session client;
    Session server;
};

inline Pair connected_pair(const TransportConfig& config = {}, const std::string& host = "127.0.0.1") {
    const std::string bracketed = host.find(':') == std::string::npos ? host : "[" + host + "]";
    auto listener = Listener::bind(bracketed + ":0", psk(1), config);
    REQUIRE(listener);
    auto client = Session::connect(host, listener->local_address().port, psk(1), config);
    INFO((client ? "" : client.error().message));
    REQUIRE(client);
    auto server = listener->accept(60s);
    REQUIRE(server);
    return {std::move(*listener), std::move(*client), std::move(*server)};
}

}  // namespace udtx::test
