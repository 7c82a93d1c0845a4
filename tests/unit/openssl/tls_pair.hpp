// A client's and a server's handshake, and the exchange of their messages.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "openssl/tls_handshake.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

namespace udtx::test {

inline Credentials psk(unsigned char fill) {
    std::array<std::byte, Credentials::kPskBytes> key{};
    key.fill(static_cast<std::byte>(fill));
    return Credentials::from_psk(key);
}

inline Credentials identity(const TemporaryDirectory& directory, const std::string& name) {
    REQUIRE(Credentials::write_identity(directory / name).ok());
    auto result = Credentials::from_identity_file(directory / name);
    REQUIRE(result.ok());
    return *result;
}

/// If set, changes the bytes in transit.
using Meddler = std::function<void(std::vector<std::byte>&)>;

struct TlsPair {
    TlsPair(const Credentials& client_credentials, const Credentials& server_credentials)
        : client_factory(openssl::TlsHandshakeFactory::make(client_credentials)),
          server_factory(openssl::TlsHandshakeFactory::make(server_credentials)) {
        REQUIRE(client_factory.ok());
        REQUIRE(server_factory.ok());
        client = (*client_factory)->make_client(from_text("client parameters"));
        server = (*server_factory)->make_server([this](std::span<const std::byte> offer) {
            ++selected;
            offered.assign(offer.begin(), offer.end());
            return answer;
        });
    }

    /// Runs until neither end has anything to send. `step`: bytes per call of provide(), 0 for all at once.
    void run(std::size_t step = 0) {
        client_result = client->provide({});
        for (int turn = 0; turn < 10; ++turn) {
            const bool there = move(*client, *server, server_result, step, to_server);
            const bool back = move(*server, *client, client_result, step, to_client);
            if (!there && !back) return;
        }
        FAIL("the handshake does not come to rest");
    }

    static bool move(crypto::Handshake& from, crypto::Handshake& to, Result<void>& result, std::size_t step,
                     const Meddler& meddle) {
        auto bytes = from.take_output();
        if (bytes.empty()) return false;
        if (meddle) meddle(bytes);
        std::span<const std::byte> rest(bytes);
        while (!rest.empty() && result.ok()) {
            const std::size_t take = step == 0 ? rest.size() : std::min(step, rest.size());
            result = to.provide(rest.first(take));
            rest = rest.subspan(take);
        }
        return true;
    }

    [[nodiscard]] bool connected() const {
        return client_result.ok() && server_result.ok() && client->complete() && server->complete();
    }

    Result<std::unique_ptr<openssl::TlsHandshakeFactory>> client_factory;
    Result<std::unique_ptr<openssl::TlsHandshakeFactory>> server_factory;
    std::unique_ptr<crypto::Handshake> client;
    std::unique_ptr<crypto::Handshake> server;
    Result<std::vector<std::byte>> answer = from_text("server parameters");
    std::vector<std::byte> offered;
    int selected = 0;
    Result<void> client_result;
    Result<void> server_result;
    Meddler to_server;
    Meddler to_client;
};

}  // namespace udtx::test
