#include "openssl/key_file.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "openssl/handles.hpp"
#include "os/system.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::openssl {
namespace {

constexpr std::size_t kKeyText = 44;  // Base64 of 32 bytes

Error io_error(std::string what, const std::filesystem::path& path) {
    const int error = errno;
    return system_failure(ErrorCode::file_io, std::move(what) + " " + path.string(), error);
}

Result<void> check_rights(int fd, const std::filesystem::path& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return io_error("cannot examine", path);
    if (S_ISDIR(status.st_mode)) return Error{ErrorCode::file_io, path.string() + " is a directory, not a key file"};
    if (!os::is_trusted_user(status.st_uid)) {
        return Error{ErrorCode::authentication, "the key file " + path.string() + " belongs to another user (number " +
                                                    std::to_string(status.st_uid) +
                                                    "), who may change it: copy it, or run chown " +
                                                    std::to_string(::geteuid()) + " " + path.string()};
    }
    if ((status.st_mode & 077U) == 0) return {};
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
    return Error{ErrorCode::authentication, "others can read the key file " + path.string() + " (mode " + mode.data() +
                                                "): run chmod 600 " + path.string() +
                                                ", and make a new key if it may have been read"};
}

/// A key may come from another program by a pipe. A pipe whose writer says nothing must not hold a server for ever.
bool writer_continues(int fd) {
    constexpr int kPatienceMs = 10'000;
    pollfd writer{fd, POLLIN, 0};
    const int ready = ::poll(&writer, 1, kPatienceMs);
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0 || (ready < 0 && errno == EINTR);
}

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return again([fd] { return ::fsync(fd); }) == 0 || errno == EINVAL;  // EINVAL: this kind of file cannot be synced
}

}  // namespace

KeyKind kind_of_key(std::string_view text) noexcept {
    constexpr std::string_view kPem = "-----BEGIN ";
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.starts_with(kPskPrefix)) return KeyKind::shared;
    if (text.starts_with(kPublicPrefix)) return KeyKind::public_key;
    for (const std::string_view prefix : {"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"}) {
        if (text.starts_with(prefix)) return KeyKind::ssh_public;
    }
    if (!text.starts_with(kPem)) return KeyKind::unknown;
    const std::string_view label = text.substr(0, text.find('\n'));
    if (label.find("PRIVATE KEY") == std::string_view::npos) return KeyKind::unknown;
    return label.find("OPENSSH") == std::string_view::npos ? KeyKind::identity : KeyKind::ssh_private;
}

SecretText::~SecretText() { OPENSSL_cleanse(text_.data(), text_.size()); }

// Swaps instead of moving: a move of std::string copies short texts and leaves the copy behind.
SecretText::SecretText(SecretText&& other) noexcept { text_.swap(other.text_); }

Result<SecretText> read_key_file(const std::filesystem::path& path, Access access, std::size_t max_bytes) {
    const UniqueFd file(open_file(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) return io_error("cannot open key file", path);
    const auto rights = access == Access::secret ? check_rights(file.get(), path) : Result<void>();
    if (!rights && rights.error().code != ErrorCode::authentication) return rights.error();
    struct stat status {};
    const bool pipe = ::fstat(file.get(), &status) == 0 && S_ISFIFO(status.st_mode);
    if (pipe && !writer_continues(file.get())) return io_error("cannot read key file", path);
    std::string text(max_bytes + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN && writer_continues(file.get())) continue;
        if (n < 0) {
            const Error error = io_error("cannot read key file", path);
            OPENSSL_cleanse(text.data(), text.size());
            return error;
        }
        if (n == 0) break;
        size += static_cast<std::size_t>(n);
    }
    if (size > max_bytes) {
        OPENSSL_cleanse(text.data(), text.size());
        return Error{ErrorCode::malformed, path.string() + " is too large for a key file"};
    }
    text.resize(size);
    SecretText read(std::move(text));
    // A public key has other rights for good reason, so its kind is the error.
    if (!rights && !is_public(kind_of_key(read.view()))) return rights.error();
    return read;
}

Result<void> create_key_file(const std::filesystem::path& path, Access access, std::string_view text) {
    const mode_t mode = access == Access::secret ? 0600 : 0644;
    auto file = open_output(path.string(), O_WRONLY | O_CREAT | O_EXCL, mode);
    if (!file) {
        const Error& error = file.error();
        if (error.system_error == EEXIST) {
            return Error{ErrorCode::file_io,
                         path.string() + " exists and is not overwritten: remove it or choose another name", EEXIST};
        }
        return Error{error.code, "cannot create key file " + path.string() + ": " + error.message, error.system_error};
    }
    bool written = write_all(file->get(), text);
    if (const int closing = file->close(); written && closing != 0) {
        errno = closing;
        written = false;
    }
    if (written) return {};
    Error error = io_error("cannot write key file", path);
    ::unlink(path.c_str());
    return error;
}

std::optional<std::array<std::byte, 32>> decode_key(std::string_view base64) {
    if (base64.size() != kKeyText) return std::nullopt;
    std::array<unsigned char, 33> decoded{};  // EVP_DecodeBlock decodes the padding to zero bytes
    const int bytes = EVP_DecodeBlock(decoded.data(), reinterpret_cast<const unsigned char*>(base64.data()),
                                      static_cast<int>(base64.size()));
    std::array<std::byte, 32> key{};
    std::copy_n(reinterpret_cast<const std::byte*>(decoded.data()), key.size(), key.begin());
    OPENSSL_cleanse(decoded.data(), decoded.size());
    // The decoder skips white space and ignores stray bits, so only the canonical encoding is accepted.
    if (bytes != static_cast<int>(decoded.size()) || SecretText(encode_key(key)).view() != base64) return std::nullopt;
    return key;
}

std::string encode_key(std::span<const std::byte, 32> key) {
    std::array<unsigned char, kKeyText + 1> text{};
    EVP_EncodeBlock(text.data(), as_uchar(key.data()), static_cast<int>(key.size()));
    std::string result(reinterpret_cast<const char*>(text.data()), kKeyText);
    OPENSSL_cleanse(text.data(), text.size());
    return result;
}

}  // namespace udtx::openssl
