// Decides when a server stops: what each signal requests, and how long the process may continue.
#pragma once

#include <optional>

#include "common/signals.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// Use it on one thread.
class ServerEnd {
  public:
    /// Time after a signal that ends transfers. In it the disk must store complete files and remove incomplete ones.
    static constexpr Duration kInterruptGrace = std::chrono::seconds(5);

    /// `one_off`: the server ends with its transfer, and every signal ends that transfer. `longest_drain`: limit of the
    /// time between the first TERM and the end of the transfers.
    explicit ServerEnd(bool one_off, std::optional<Duration> longest_drain = std::nullopt)
        : one_off_(one_off), longest_drain_(longest_drain) {}

    enum class Wish {
        nothing,   ///< HUP to a server that ends its transfers
        repeated,  ///< see Interruption::Wish
        reload,    ///< read the keys again: HUP to a server
        drain,     ///< accept no new transfers, complete the running ones: the first TERM of a server
        wind_up,   ///< end the running transfers in an orderly way
        leave,     ///< exit at once
    };
    [[nodiscard]] Wish on_signal(int signal, Instant now) noexcept;
    /// True once, when the transfers must end because the drain has reached its limit.
    [[nodiscard]] bool drained_too_long(Instant now) noexcept;

    /// The server ends as soon as no transfer is left.
    [[nodiscard]] bool ending() const noexcept { return interrupted() || draining_since_.has_value(); }
    [[nodiscard]] bool draining() const noexcept { return draining_since_.has_value(); }
    /// The running transfers were told to end.
    [[nodiscard]] bool winding_up() const noexcept { return deadline_.has_value(); }
    /// A signal that ends transfers has arrived.
    [[nodiscard]] bool interrupted() const noexcept { return signal() != 0; }
    /// The first signal that ends transfers; 0: none.
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }
    /// kInterruptGrace is over.
    [[nodiscard]] bool overdue(Instant now) const noexcept { return deadline_ && now >= *deadline_; }

  private:
    bool one_off_;
    std::optional<Duration> longest_drain_;
    Interruption interruption_;
    std::optional<Instant> draining_since_;
    std::optional<Instant> deadline_;
};

}  // namespace udtx::apps
