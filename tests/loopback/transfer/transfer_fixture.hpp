// A server on this host, and a tree to push to it and to pull from it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "udtx/credentials.hpp"
#include "udtx/transfer/server.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::test {

using namespace std::chrono_literals;

inline Credentials key(unsigned char byte = 1) {
    std::array<std::byte, Credentials::kPskBytes> bytes{};
    bytes.fill(static_cast<std::byte>(byte));
    return Credentials::from_psk(bytes);
}

/// Makes a tree of some files, with the names and the contents that equal() compares.
inline void make_tree(const fs::path& root, std::size_t bytes = 300'000) {
    fs::create_directories(root / "sub" / "deep");
    write_file(root / "small", "a few bytes");
    write_file(root / "empty", "");
    write_file(root / "sub" / "large", random_content(bytes, 7));
    write_file(root / "sub" / "deep" / "object.o", random_content(1000, 8));
}

inline bool equal(const fs::path& a, const fs::path& b) { return read_file(a) == read_file(b) && fs::exists(b); }

/// Serves one directory for push and pull.
class Served {
  public:
    explicit Served(const std::function<void(transfer::ServerOptions&)>& change = [](transfer::ServerOptions&) {}) {
        const std::string directory = root.path().string();
        transfer::ServerOptions options{.listen = "127.0.0.1:0", .credentials = key()};
        options.push = [directory](const transfer::Client&) {
            return transfer::LandingOptions{.directory = directory, .allow_erase = true};
        };
        options.pull = [directory](const transfer::Client&, const transfer::Selection&) {
            return transfer::OfferOptions{.directory = directory};
        };
        change(options);
        auto opened = transfer::Server::open(std::move(options));
        REQUIRE(opened);
        server.emplace(std::move(*opened));
        REQUIRE(server->start());
    }

    [[nodiscard]] std::uint16_t port() const { return server->local_address().port; }
    [[nodiscard]] transfer::SendRequest push(transfer::SendOptions options) const {
        return {.host = "127.0.0.1", .port = port(), .credentials = key(), .options = std::move(options)};
    }
    [[nodiscard]] transfer::ReceiveRequest pull(transfer::ReceiveOptions options) const {
        return {.host = "127.0.0.1", .port = port(), .credentials = key(), .options = std::move(options)};
    }

    TemporaryDirectory root;  // the served directory
    std::optional<transfer::Server> server;
};

}  // namespace udtx::test
