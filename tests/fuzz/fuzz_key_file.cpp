// Key files: a pre-shared key, an identity, trusted keys. A file is read as complete keys or refused.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "fuzz/require.hpp"
#include "openssl/key_file.hpp"
#include "udtx/credentials.hpp"
#include "udtx/descriptor.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{{7, "a key file is a complete key or is refused"}};

using namespace udtx;
using udtx::fuzz::require;

namespace {

/// A file in memory that has a name to open and the mode of a key file.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view text) : fd_(::memfd_create("key", MFD_CLOEXEC)) {
        require(fd_ && ::fchmod(fd_.get(), 0600) == 0, "memory is there");
        require(::write(fd_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                "and takes the text");
    }
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

  private:
    UniqueFd fd_;
};

void check(std::string_view text) {
    const MemoryFile file(text);
    if (const auto psk = Credentials::from_psk_file(file.path())) {
        require(psk->uses_psk() && !psk->public_key(), "a pre-shared key is one");
    }
    if (const auto identity = Credentials::from_identity_file(file.path())) {
        require(!identity->uses_psk() && identity->public_key().has_value(), "an identity has a public key");
    }
    if (const auto key = PublicKey::parse(text)) {
        const auto again = PublicKey::parse(key->to_string());
        require(again && *again == *key, "a public key is written to the same");
    }
    if (const auto key = openssl::decode_key(text))
        require(openssl::encode_key(*key) == text, "keys have one spelling");
}

/// Reads the same file as a list of trusted peers, with a valid identity.
void check_trusted(std::string_view text) {
    static const std::string identity =
        "-----BEGIN PRIVATE KEY-----\n"
        "MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"
        "-----END PRIVATE KEY-----\n";
    static const Result<Credentials> whole = Credentials::from_identity_file(MemoryFile(identity).path());
    require(whole.ok(), "the identity is good");
    Credentials own = *whole;
    static_cast<void>(own.trust_file(MemoryFile(text).path()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check(text);
    check_trusted(text);
    return 0;
}
