// The code about the core in docs/using/library.md. The core needs no socket and no clock.
#include <udtx/core/endpoint.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

/// What a driver does with the core's output.
struct Driver {
    std::function<void(const udtx::proto::Transmit&, std::span<const std::byte>)> send;
    std::function<void(const udtx::proto::Event&)> tell;
    std::function<void(udtx::Instant)> set_timer;
};

// Call it after endpoint.handle_datagram(now, datagram), endpoint.handle_timeout(now), and each call of a connection.
void poll(udtx::proto::Endpoint& endpoint, udtx::Instant now, std::span<std::byte> buffer, Driver& driver) {
    while (auto connection = endpoint.poll_touched())
        while (auto event = connection->poll_event()) driver.tell(*event);
    while (auto batch = endpoint.poll_transmit(now, 10, buffer)) driver.send(*batch, buffer.first(batch->size));
    if (auto next = endpoint.poll_timeout()) driver.set_timer(*next);
}

/// Has no cipher and no random numbers, which is enough for an endpoint to which nobody connects.
struct NoProvider : udtx::crypto::Provider {
    std::unique_ptr<udtx::crypto::Aead> make_aead(udtx::crypto::Cipher, std::span<const std::byte>) override {
        return {};
    }
    udtx::crypto::Secret hkdf_extract(std::span<const std::byte>, std::span<const std::byte>) override { return {}; }
    void hkdf_expand(const udtx::crypto::Secret&, std::span<const std::byte>, std::span<std::byte>) override {}
    udtx::crypto::Secret hmac_sha256(std::span<const std::byte>, std::span<const std::byte>) override { return {}; }
};
struct NoRng : udtx::Rng {
    void fill(std::span<std::byte>) override {}
};

static bool an_endpoint_alone_has_nothing_to_do() {
    NoProvider provider;
    NoRng rng;
    udtx::proto::Endpoint endpoint({.provider = &provider, .rng = &rng}, {});
    bool quiet = true;
    Driver driver{[&](const auto&, auto) { quiet = false; }, [&](const auto&) { quiet = false; }, [](auto) {}};
    std::vector<std::byte> buffer(65000);
    poll(endpoint, udtx::Instant(), buffer, driver);
    return quiet && endpoint.connection_count() == 0;
}

int main() { return an_endpoint_alone_has_nothing_to_do() ? 0 : 1; }
