#define OPENSSL_SUPPRESS_DEPRECATED  // OpenSSL 3 has another way, which needs a provider
#include "compat/fixed_random.hpp"

#include <openssl/rand.h>

#include <utility>

namespace udtx::test {
namespace {

std::function<void(std::span<std::byte>)> source;
const RAND_METHOD* before = nullptr;

int fill(unsigned char* out, int size) {
    source(std::as_writable_bytes(std::span(out, static_cast<std::size_t>(size))));
    return 1;
}
int ready() { return 1; }
const RAND_METHOD kMethod{nullptr, fill, nullptr, nullptr, fill, ready};

}  // namespace

FixedRandom::FixedRandom(std::function<void(std::span<std::byte>)> fill) {
    source = std::move(fill);
    before = RAND_get_rand_method();
    RAND_set_rand_method(&kMethod);
}

FixedRandom::~FixedRandom() {
    RAND_set_rand_method(before);
    source = nullptr;
}

}  // namespace udtx::test
