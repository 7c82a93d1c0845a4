// The request of a receiver that connects, as the messages PULL, RULES and NAMES. Layout and order:
// docs/inside/transfer-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

inline constexpr std::size_t kMaxPullSources = 256;
inline constexpr std::size_t kMaxPullSourceBytes = 32U << 10U;
/// Bound on all names that one request lists.
inline constexpr std::size_t kMaxPullNameBytes = 32U << 20U;

/// A transfer as the receiver requests it.
struct PullWish {
    Selection what{};
    std::uint64_t transfer = 0;  ///< number of the transfer; 0: no continuation
    bool stream = false;         ///< the only source goes to a pipe
};

/// What the sender is told of a shard. How far the shard is, only the receiver needs to know.
[[nodiscard]] std::optional<JobShard> in_request(std::optional<JobShard> shard);

/// invalid_argument: more sources or names than one request can hold.
[[nodiscard]] Result<std::vector<Message>> messages_of(PullWish wish);

/// Reads a request, message by message.
class PullRequest {
  public:
    [[nodiscard]] bool begun() const noexcept { return begun_; }
    /// Memory of the list of names: once as received and once sorted.
    [[nodiscard]] std::uint64_t held() const noexcept { return 2 * name_bytes_; }
    /// protocol: the message is not part of a request, is out of order, or exceeds a limit.
    Result<void> add(Message message);
    /// Adds all messages of a block.
    Result<void> add_all(std::span<const std::byte> bytes);
    [[nodiscard]] const PullWish& wish() const noexcept { return wish_; }
    /// Moves the wish out; held() keeps its value.
    [[nodiscard]] PullWish take_wish() { return std::move(wish_); }

  private:
    Result<void> add(message::Pull m);
    Result<void> add(const message::Rules& m);
    Result<void> add(message::Names m);

    PullWish wish_;
    bool begun_ = false;
    std::size_t name_bytes_ = 0;
};

}  // namespace udtx::transfer
