#include "openssl/credentials.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/state_access.hpp"
#include "crypto/packet_protection.hpp"
#include "openssl/key_file.hpp"
#include "udtx/credentials.hpp"

namespace udtx::openssl {

CredentialsData::CredentialsData(const CredentialsData& other) : psk(other.psk), trusted(other.trusted) {
    if (other.identity && EVP_PKEY_up_ref(other.identity.get()) == 1) identity.reset(other.identity.get());
}

CredentialsData::~CredentialsData() {
    if (psk) OPENSSL_cleanse(psk->data(), psk->size());
}

std::optional<crypto::Secret> hello_key(crypto::Provider& provider, const Credentials& credentials) {
    const auto& psk = StateAccess::of(credentials)->psk;
    if (!psk) return std::nullopt;
    crypto::Secret key{};
    crypto::expand_label(provider, *psk, "hello proof", key);
    return key;
}

std::optional<crypto::Secret> reset_key(crypto::Provider& provider, const Credentials& credentials) {
    crypto::Secret material{};
    const auto& data = *StateAccess::of(credentials);
    std::size_t bytes = material.size();
    if (data.psk) {
        material = *data.psk;
    } else if (!data.identity ||
               EVP_PKEY_get_raw_private_key(data.identity.get(), as_uchar(material.data()), &bytes) != 1 ||
               bytes != material.size()) {
        return std::nullopt;
    }
    crypto::Secret key{};
    crypto::expand_label(provider, material, "stateless reset", key);
    OPENSSL_cleanse(material.data(), material.size());
    return key;
}

std::optional<PublicKey> raw_public_key(const EVP_PKEY* key) {
    PublicKey result;
    std::size_t bytes = result.bytes.size();
    if (key == nullptr || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519 ||
        EVP_PKEY_get_raw_public_key(key, as_uchar(result.bytes.data()), &bytes) != 1 || bytes != result.bytes.size()) {
        return std::nullopt;
    }
    return result;
}

}  // namespace udtx::openssl

namespace udtx {
namespace {

using openssl::Access;
using openssl::CredentialsData;
using openssl::KeyKind;
using openssl::kPskPrefix;
using openssl::kPublicPrefix;

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::size_t kMaxSecretFile = 4096;
constexpr std::size_t kMaxTrustFile = 4U << 20U;

std::string_view trim(std::string_view text) noexcept {
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// The error if the file holds a key of another kind than `wanted`; nullopt: it does not.
std::optional<Error> other_kind(std::string_view text, KeyKind wanted, const std::filesystem::path& path) {
    const auto noun = [](KeyKind kind) -> std::string {
        switch (kind) {
            case KeyKind::unknown:
                return "no key";
            case KeyKind::shared:
                return "a shared key";
            case KeyKind::identity:
                return "a private key";
            case KeyKind::public_key:
                return "a public key";
            case KeyKind::ssh_private:
                return "a private key of ssh";
            case KeyKind::ssh_public:
                return "a public key of ssh";
        }
        return "no key";
    };
    const KeyKind kind = openssl::kind_of_key(text);
    if (kind == KeyKind::unknown || kind == wanted) return std::nullopt;
    std::string remedy = "make one with udtx-send keygen FILE";
    if (wanted == KeyKind::identity) {
        const bool pair = kind == KeyKind::public_key && path.extension() == ".pub";
        remedy = pair ? "give " + std::filesystem::path(path).replace_extension().string()
                      : "make an identity with udtx-send keygen";
    } else if (wanted == KeyKind::public_key) {
        remedy = kind == KeyKind::identity ? "give " + path.string() + ".pub"
                                           : "udtx-send keygen makes it beside an identity";
    }
    return Error{ErrorCode::malformed,
                 path.string() + " is " + noun(kind) + ", and " + noun(wanted) + " is needed: " + remedy};
}

// Refuses an encrypted key instead of asking for a passphrase on the terminal. This design has no human passphrases.
int no_passphrase(char*, int, int, void*) { return -1; }

Result<openssl::KeyPtr> parse_identity(std::string_view pem, const std::filesystem::path& path) {
    ERR_clear_error();
    const openssl::BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    openssl::KeyPtr key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr) : nullptr);
    ERR_clear_error();
    if (!key) {
        return Error{
            ErrorCode::malformed,
            path.string() + " is not a private key in PEM form without a passphrase: make one with udtx-send keygen"};
    }
    if (!openssl::raw_public_key(key.get())) {
        return Error{ErrorCode::malformed,
                     path.string() + " has a key that is not Ed25519: make one with udtx-send keygen"};
    }
    return key;
}

Result<std::string> identity_pem(EVP_PKEY* key) {
    const openssl::BioPtr bio(BIO_new(BIO_s_secmem()));
    char* data = nullptr;
    if (!bio || PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
        return Error{ErrorCode::internal, "cannot encode the private key"};
    }
    const long size = BIO_get_mem_data(bio.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
}

}  // namespace

Result<PublicKey> PublicKey::parse(std::string_view text) {
    text = trim(text);
    if (text.substr(0, kPublicPrefix.size()) == kPublicPrefix) {
        text = trim(text.substr(kPublicPrefix.size()));
        const std::string_view key = text.substr(0, text.find_first_of(kBlank));
        if (const auto bytes = openssl::decode_key(key)) return PublicKey{*bytes};
    }
    return Error{ErrorCode::malformed, "not a public key of the form \"udtx-ed25519 BASE64\""};
}

std::string PublicKey::to_string() const { return std::string(kPublicPrefix) + openssl::encode_key(bytes); }

Result<Credentials> Credentials::from_psk_file(const std::filesystem::path& path) {
    const auto text = openssl::read_key_file(path, Access::secret, kMaxSecretFile);
    if (!text) return text.error();
    if (auto other = other_kind(text->view(), KeyKind::shared, path)) return *other;
    const std::string_view line = trim(text->view());
    if (line.substr(0, kPskPrefix.size()) == kPskPrefix) {
        if (auto key = openssl::decode_key(line.substr(kPskPrefix.size()))) {
            Credentials result = from_psk(*key);
            OPENSSL_cleanse(key->data(), key->size());
            return result;
        }
    }
    return Error{ErrorCode::malformed, path.string() +
                                           " is not a complete key file (\"udtx-psk-1 BASE64\"): "
                                           "make one with udtx-send keygen FILE"};
}

Credentials Credentials::from_psk(std::span<const std::byte, kPskBytes> key) {
    const auto data = std::make_shared<CredentialsData>();
    std::copy(key.begin(), key.end(), data->psk.emplace().begin());
    return Credentials(data);
}

Result<Credentials> Credentials::from_identity_file(const std::filesystem::path& path) {
    const auto text = openssl::read_key_file(path, Access::secret, kMaxSecretFile);
    if (!text) return text.error();
    if (auto other = other_kind(text->view(), KeyKind::identity, path)) return *other;
    auto key = parse_identity(text->view(), path);
    if (!key) return key.error();
    const auto data = std::make_shared<CredentialsData>();
    data->identity = std::move(*key);
    return Credentials(data);
}

Result<void> Credentials::trust(const PublicKey& peer) {
    if (uses_psk())
        return Error{ErrorCode::invalid_argument, "a pre-shared key and pinned public keys exclude each other"};
    const auto data = std::make_shared<CredentialsData>(*state_);
    data->trusted.insert(peer);
    state_ = data;
    return {};
}

Result<void> Credentials::trust_file(const std::filesystem::path& path) {
    if (uses_psk())
        return Error{ErrorCode::invalid_argument, "a pre-shared key and pinned public keys exclude each other"};
    const auto text = openssl::read_key_file(path, Access::open, kMaxTrustFile);
    if (!text) return text.error();
    if (auto other = other_kind(text->view(), KeyKind::public_key, path)) return *other;
    const auto data = std::make_shared<CredentialsData>(*state_);
    std::string_view rest = text->view();
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = trim(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty() || line.front() == '#') continue;
        const auto key = PublicKey::parse(line);
        if (!key) {
            return Error{ErrorCode::malformed,
                         path.string() + ", line " + std::to_string(number) + ": " + key.error().message};
        }
        data->trusted.insert(*key);
    }
    state_ = data;
    return {};
}

bool Credentials::trusts(const PublicKey& peer) const { return state_->trusted.contains(peer); }

bool Credentials::uses_psk() const noexcept { return state_->psk.has_value(); }

std::optional<PublicKey> Credentials::public_key() const { return openssl::raw_public_key(state_->identity.get()); }

Result<void> Credentials::write_psk_file(const std::filesystem::path& path) {
    std::array<std::byte, kPskBytes> key{};
    if (RAND_priv_bytes(openssl::as_uchar(key.data()), static_cast<int>(key.size())) != 1) {
        return Error{ErrorCode::internal, "the system provides no random numbers"};
    }
    const openssl::SecretText encoded(openssl::encode_key(key));
    OPENSSL_cleanse(key.data(), key.size());
    std::string line;
    line.reserve(kPskPrefix.size() + encoded.view().size() + 1);
    line.append(kPskPrefix).append(encoded.view()).append("\n");
    const openssl::SecretText text(std::move(line));
    return openssl::create_key_file(path, Access::secret, text.view());
}

Result<void> Credentials::write_identity(const std::filesystem::path& path) {
    const openssl::KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    const auto public_key = openssl::raw_public_key(key.get());
    if (!public_key) return Error{ErrorCode::internal, "cannot make an Ed25519 key"};
    auto pem = identity_pem(key.get());
    if (!pem) return pem.error();
    const openssl::SecretText text(std::move(*pem));
    if (auto made = openssl::create_key_file(path, Access::secret, text.view()); !made) return made;
    std::filesystem::path public_path = path;
    public_path += ".pub";
    auto made = openssl::create_key_file(public_path, Access::open, public_key->to_string() + "\n");
    if (!made) ::unlink(path.c_str());  // half an identity is useless and would block the next attempt
    return made;
}

}  // namespace udtx
