#include "os/byte_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace udtx::os {
namespace {

void make_non_blocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0) ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

ByteStream::Moved failed(int error) {
    if (would_block(error)) return {};
    return {.bytes = 0, .over = std::error_code(error, std::generic_category()).message()};
}

class DescriptorStream final : public ByteStream {
  public:
    DescriptorStream(UniqueFd in, UniqueFd out) : in_(std::move(in)), out_(std::move(out)) {
        make_non_blocking(in_.get());
        make_non_blocking(out_.get());
    }

    Moved read(std::span<std::byte> out) override {
        const auto n = again([&] { return ::read(in_.get(), out.data(), out.size()); });
        if (n < 0) return failed(errno);
        if (n == 0) return {.bytes = 0, .over = std::string()};
        return {.bytes = static_cast<std::size_t>(n)};
    }

    Moved write(std::span<const std::byte> bytes) override {
        const auto n = again([&] { return ::write(out_.get(), bytes.data(), bytes.size()); });
        if (n < 0) return failed(errno);
        return {.bytes = static_cast<std::size_t>(n)};
    }

    void watch(bool to_write, std::vector<Watch>& watches) const override {
        watches.push_back({.fd = in_.get(), .readable = true});
        if (to_write) watches.push_back({.fd = out_.get(), .writable = true});
    }

  private:
    UniqueFd in_;
    UniqueFd out_;
};

}  // namespace

std::unique_ptr<ByteStream> stream_of(UniqueFd in, UniqueFd out) {
    return std::make_unique<DescriptorStream>(std::move(in), std::move(out));
}

}  // namespace udtx::os
