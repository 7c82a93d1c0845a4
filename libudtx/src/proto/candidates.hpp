// The addresses at which a client tries to reach a server, side by side ("happy eyeballs", RFC 8305). Each gets copies
// of the client's flights from its own time on, until one answers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "udtx/core/connection.hpp"
#include "udtx/rate.hpp"

namespace udtx::proto {

/// Times count from the start of the connection. Order of calls: begin() when next_begin() is reached, then next()
/// until null, a flight to each result. repeat() for the next flight to all.
class Candidates {
  public:
    /// Candidates begin at least this far apart: the connection attempt delay of RFC 8305, section 5.
    static constexpr Duration kApart = std::chrono::milliseconds(250);

    /// The `after` of a candidate that is never tried. It stands for one that is still to be added.
    static constexpr Duration kNever = Duration::max() / 2;

    explicit Candidates(std::vector<PathAddresses> all);

    /// Another one, to be tried when its time comes, or at once if the system cannot send to those that have begun.
    void add(PathAddresses candidate, Duration now);
    /// All of them, in the order of their times; empty once settle() was called.
    [[nodiscard]] std::span<const PathAddresses> all() const noexcept { return all_; }
    /// When begin() has something to do.
    [[nodiscard]] std::optional<Duration> next_begin() const;
    /// Makes the flight due for the candidates whose time has come. True: there are any.
    bool begin(Duration now);
    /// No candidate has begun: nothing may be sent yet.
    [[nodiscard]] bool wait() const noexcept { return !all_.empty() && begun_ == 0; }
    /// Makes the flight due for all that have begun.
    void repeat() noexcept { due_ = begun_; }
    /// The next candidate that gets the flight; null: none is due. The pointer is valid until another call.
    [[nodiscard]] const PathAddresses* next();

    /// The system cannot send between these addresses. True: that holds for all candidates now. Otherwise, if none of
    /// those that have begun is left, the next one begins.
    bool block(const Address& local, const Address& remote);
    [[nodiscard]] bool blocked(const Address& local, const Address& remote) const;

    /// The candidate by which this datagram came; null: there is none.
    [[nodiscard]] const PathAddresses* came_by(const Address& local, const Address& remote) const;
    /// One has answered.
    void settle() noexcept;

  private:
    [[nodiscard]] bool blocked(const PathAddresses& one) const;

    std::vector<PathAddresses> all_;
    std::size_t begun_ = 0;  // the first ones, in the order of their times
    std::size_t turn_ = 0;   // the last one that got a flight
    std::size_t due_ = 0;    // how many of those behind it get the present flight
    std::vector<std::pair<Address, Address>> blocked_;
};

}  // namespace udtx::proto
