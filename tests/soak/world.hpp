// The hosts and lines of an episode, with the active faults.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/scenario.hpp"
#include "soak/plan.hpp"
#include "udtx/core/connection.hpp"

namespace udtx::soak {

class World {
  public:
    explicit World(const Plan& plan);

    [[nodiscard]] sim::Scenario& scenario() noexcept { return scenario_; }
    [[nodiscard]] Instant now() noexcept { return scenario_.events().now(); }
    [[nodiscard]] sim::SimHost& host(Role role) noexcept {
        return role == Role::client ? scenario_.client() : scenario_.server();
    }
    /// The client's addresses and the server's, one pair per line.
    [[nodiscard]] std::vector<proto::PathAddresses> candidates();

    void begin(const Fault& fault);
    void end(const Fault& fault);
    /// Until then no line counts as working: an end is away, or has only just returned.
    void disturb_all(Instant until);

    /// Time since which this line has been able to carry data; empty: it cannot carry data now.
    [[nodiscard]] std::optional<Instant> works_since(std::size_t line) const noexcept;
    /// patience() of the line, plus the time to drain its queues and the keep-alive times.
    [[nodiscard]] Duration patience(std::size_t line);
    [[nodiscard]] std::size_t line_count() const noexcept { return lines_.size(); }
    [[nodiscard]] Duration round_trip(std::size_t line) const noexcept;

  private:
    struct State {
        Line now;
        sim::Link* up = nullptr;
        sim::Link* down = nullptr;
        std::vector<const Fault*> faults;
        std::optional<Instant> works_since;
        Duration queued{};  ///< time to drain both queues, taken at the last change
    };
    void refresh(std::size_t line);
    void rebind(const Fault& fault);
    void add_line(std::size_t i);

    const Plan& plan_;
    sim::Scenario scenario_;
    std::vector<State> lines_;
    Address nat_;
};

}  // namespace udtx::soak
