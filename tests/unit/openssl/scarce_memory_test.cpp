// If OpenSSL gets no memory, the caller gets std::bad_alloc and the process survives.
#include <openssl/crypto.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>

#include "openssl/provider.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "tls_pair.hpp"
#include "transfer/checksum.hpp"
#include "udtx/system.hpp"

using namespace udtx;

namespace {

thread_local int granted = -1;  // allocations that may still succeed; negative: no limit

bool grant() {
    if (granted == 0) return false;
    if (granted > 0) --granted;
    return true;
}

void* allocate(std::size_t bytes, const char* /*file*/, int /*line*/) { return grant() ? std::malloc(bytes) : nullptr; }
void* reallocate(void* old, std::size_t bytes, const char* /*file*/, int /*line*/) {
    return grant() ? std::realloc(old, bytes) : nullptr;
}
void release(void* memory, const char* /*file*/, int /*line*/) { std::free(memory); }

// Runs before OpenSSL's first allocation.
const bool replaced = CRYPTO_set_mem_functions(allocate, reallocate, release) == 1;

/// Makes `work` fail at its first allocation, then at its second and so on, until it succeeds. Returns how often it
/// failed.
template <class Work>
int fails(const Work& work) {
    for (int allocations = 0; allocations < 1000; ++allocations) {
        granted = allocations;
        try {
            work();
            granted = -1;
            return allocations;
        } catch (const std::bad_alloc&) {
            granted = -1;
        }
    }
    FAIL("it never gets enough");
    return 0;
}

}  // namespace

// Must be the first test of its program, because later tests use what OpenSSL has cached by then.
TEST_CASE("After a handshake without memory, whatever it lacked, the next one succeeds") {
    REQUIRE(replaced);
    auto factory = openssl::TlsHandshakeFactory::make(test::psk(1));
    REQUIRE(factory.ok());
    const auto shake = [&] {
        const auto client = (*factory)->make_client(test::from_text("parameters"));
        const auto server = (*factory)->make_server(
            [](std::span<const std::byte>) { return Result<std::vector<std::byte>>(test::from_text("answer")); });
        return client->provide({}) && server->provide(client->take_output()) &&
               client->provide(server->take_output()) && server->provide(client->take_output()) &&
               client->export_secret("test").ok() && server->export_secret("test").ok();
    };
    // Each attempt runs in its own process, because OpenSSL keeps what it has loaded.
    bool enough = false;
    for (int allocations = 0; !enough && allocations < 1500; ++allocations) {
        INFO(allocations << " allocations");
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            granted = allocations;
            bool done = false;
            try {
                done = shake();
            } catch (const std::bad_alloc&) {
                // expected
            }
            granted = -1;
            std::_Exit(done ? 2 : shake() ? 0 : 1);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        REQUIRE(WEXITSTATUS(status) != 1);
        enough = WEXITSTATUS(status) == 2;
    }
    CHECK(enough);
}

TEST_CASE("Keyed hashing and ciphers without memory throw") {
    REQUIRE(replaced);
    openssl::OpensslProvider provider;
    const auto key = test::from_hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    CHECK(fails([&] { (void)provider.hmac_sha256(key, key); }) > 0);
    CHECK(fails([&] { (void)openssl::make_evp_aead(EVP_chacha20_poly1305(), key); }) > 0);
}

TEST_CASE("A handshake without memory throws or fails") {
    REQUIRE(replaced);
    auto client_factory = openssl::TlsHandshakeFactory::make(test::psk(1));
    auto server_factory = openssl::TlsHandshakeFactory::make(test::psk(1));
    REQUIRE(client_factory.ok());
    REQUIRE(server_factory.ok());
    const auto client = (*client_factory)->make_client(test::from_text("parameters"));
    REQUIRE(client->provide({}).ok());
    const auto hello = client->take_output();
    REQUIRE(!hello.empty());
    CHECK(fails([&] {
              const auto server = (*server_factory)->make_server([](std::span<const std::byte>) {
                  return Result<std::vector<std::byte>>(test::from_text("answer"));
              });
              if (!server->provide(hello)) throw std::bad_alloc();
          }) > 0);
}

TEST_CASE("A hash without memory throws, and is never something else") {
    REQUIRE(replaced);
    const auto bytes = test::from_text("what is hashed");
    transfer::Hasher whole(transfer::HashAlgorithm::sha256);
    whole.update(bytes);
    const auto digest = whole.finish();
    CHECK(fails([&] {
              transfer::Hasher hasher(transfer::HashAlgorithm::sha256);
              hasher.update(bytes);
              if (hasher.finish() != digest) FAIL("another hash");
          }) > 0);
}

TEST_CASE("Random bytes without memory throw or come") {
    REQUIRE(replaced);
    std::array<std::byte, 16> bytes{};
    SystemRng random;
    CHECK(fails([&] { random.fill(bytes); }) >= 0);
}
