// Small text files that hold keys. Reading checks their permissions; writing never overwrites a file.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "udtx/result.hpp"

namespace udtx::openssl {

/// A string whose bytes are overwritten by the destructor.
class SecretText {
  public:
    SecretText() = default;
    explicit SecretText(std::string text) : text_(std::move(text)) {}
    ~SecretText();
    SecretText(SecretText&&) noexcept;
    SecretText& operator=(SecretText&&) = delete;
    [[nodiscard]] std::string_view view() const noexcept { return text_; }

  private:
    std::string text_;
};

inline constexpr std::string_view kPskPrefix = "udtx-psk-1 ";
inline constexpr std::string_view kPublicPrefix = "udtx-ed25519 ";

/// What a key file holds, judged by its beginning.
enum class KeyKind { unknown, shared, identity, public_key, ssh_private, ssh_public };
[[nodiscard]] KeyKind kind_of_key(std::string_view text) noexcept;
[[nodiscard]] constexpr bool is_public(KeyKind kind) noexcept {
    return kind == KeyKind::public_key || kind == KeyKind::ssh_public;
}

enum class Access { secret, open };

/// Reads the whole file, at most `max_bytes`. Access::secret refuses a file that group or others can access, or that an
/// untrusted user owns, unless it holds a public key.
Result<SecretText> read_key_file(const std::filesystem::path& path, Access access, std::size_t max_bytes);

/// Creates the file (0600 or 0644) and syncs it. Refuses if the name exists. Removes the file after a failure.
Result<void> create_key_file(const std::filesystem::path& path, Access access, std::string_view text);

/// Decodes 32 bytes from standard Base64 with padding, strictly: nullopt for anything else.
[[nodiscard]] std::optional<std::array<std::byte, 32>> decode_key(std::string_view base64);
[[nodiscard]] std::string encode_key(std::span<const std::byte, 32> key);

}  // namespace udtx::openssl
