// How many TCP connections carry the data, by measurement: where loss or a limit for each connection keeps one below
// what the path carries, several carry more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"

namespace udtx::io {

/// Compares the rate before and after each further connection. One that brings less than half of what a share of its
/// own would bring is closed again, because on a path that one connection fills, a second one only takes from others.
class StreamCount {
  public:
    static constexpr std::size_t kMost = 4;
    /// A connection is measured after its slow start.
    static constexpr Duration kSettle = std::chrono::seconds(2);
    static constexpr Duration kMeasure = std::chrono::seconds(2);

    enum class Wish : std::uint8_t { nothing, open, close_newest };

    /// When look() has something to do.
    [[nodiscard]] Instant next() const noexcept { return next_; }
    /// `bytes`: carried so far by all of them. After `open` call on_opened() or on_failed(), while opening().
    [[nodiscard]] Wish look(Instant now, std::uint64_t bytes);
    void on_opened(Instant now);
    void on_failed() noexcept;
    /// UDP carries the data, or the connections are others: starts again with one.
    void restart(Instant now) noexcept;
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// look() has wished for another one, which is neither open nor has failed.
    [[nodiscard]] bool opening() const noexcept { return stage_ == Stage::opening; }

  private:
    enum class Stage : std::uint8_t { settling, measuring, opening, decided };
    static constexpr Step<Stage> kSteps[] = {{Stage::settling, Stage::measuring}, {Stage::measuring, Stage::settling},
                                             {Stage::measuring, Stage::opening},  {Stage::measuring, Stage::decided},
                                             {Stage::opening, Stage::settling},   {Stage::opening, Stage::decided}};

    void decide();

    std::size_t count_ = 1;
    Lifecycle<kSteps> stage_{Stage::settling};
    Instant next_{};
    Instant since_{};
    std::uint64_t bytes_ = 0;  // at since_
    double before_ = 0.0;      // bytes per second of one connection fewer; 0: not measured
};

}  // namespace udtx::io
