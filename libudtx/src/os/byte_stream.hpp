// A byte stream that never blocks: pipes, sockets, and TLS on top of one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::os {

/// A descriptor to wait for. The loop sets `ready`, also if the descriptor failed.
struct Watch {
    int fd = -1;
    bool readable = false;
    bool writable = false;
    bool ready = false;
};

/// One thread makes all calls. It must ignore or block SIGPIPE.
class ByteStream {
  public:
    /// What a call moved. Without bytes and without an error, it would have blocked.
    struct Moved {
        std::size_t bytes = 0;
        std::optional<std::string> over{};  ///< why the stream has ended; empty: the peer closed it
    };

    virtual ~ByteStream() = default;
    [[nodiscard]] virtual Moved read(std::span<std::byte> out) = 0;
    [[nodiscard]] virtual Moved write(std::span<const std::byte> bytes) = 0;
    /// Appends what to wait for until the next read(), and write() if `to_write`.
    virtual void watch(bool to_write, std::vector<Watch>& watches) const = 0;
    /// False: both ends still exchange keys. Nothing is read or written until then.
    [[nodiscard]] virtual bool open() const { return true; }
};

/// Reads from one descriptor and writes to another one, or to the same. Makes them non-blocking.
[[nodiscard]] std::unique_ptr<ByteStream> stream_of(UniqueFd in, UniqueFd out);

}  // namespace udtx::os
