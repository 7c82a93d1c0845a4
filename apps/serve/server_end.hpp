// When a server stops: what each signal asks for, and until when the process may stay.
#pragma once

#include <optional>

#include "common/signals.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// One thread.
class ServerEnd {
  public:
    /// After a signal that ends transfers: so long our own disk has to take what is complete and to lose what is not.
    static constexpr Duration kInterruptGrace = std::chrono::seconds(5);

    /// `one_off`: it ends with its transfer, and a signal always ends that.
    explicit ServerEnd(bool one_off) : one_off_(one_off) {}

    enum class Wish {
        nothing,  ///< it has been said before
        drain,    ///< nobody is let in any more, and who is in goes on to the end: the first TERM of a server
        wind_up,  ///< whoever is in is ended in good order
        leave,    ///< at once
    };
    [[nodiscard]] Wish on_signal(int signal, Instant now) noexcept;

    /// It ends as soon as nobody is in any more.
    [[nodiscard]] bool ending() const noexcept { return interrupted() || draining_since_.has_value(); }
    [[nodiscard]] bool draining() const noexcept { return draining_since_.has_value(); }
    /// By a signal that ends transfers.
    [[nodiscard]] bool interrupted() const noexcept { return signal() != 0; }
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }  ///< the first such one; 0: none
    /// The grace is over.
    [[nodiscard]] bool overdue(Instant now) const noexcept { return deadline_ && now >= *deadline_; }

  private:
    bool one_off_;
    Interruption interruption_;
    std::optional<Instant> draining_since_;
    std::optional<Instant> deadline_;
};

}  // namespace udtx::apps
