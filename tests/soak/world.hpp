// The hosts and lines of an episode, with the faults that are under way on them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/scenario.hpp"
#include "soak/plan.hpp"
#include "udtx/core/path.hpp"

namespace udtx::soak {

class World {
  public:
    explicit World(const Plan& plan);

    [[nodiscard]] sim::Scenario& scenario() noexcept { return scenario_; }
    [[nodiscard]] Instant now() noexcept { return scenario_.events().now(); }
    [[nodiscard]] sim::SimHost& host(Role role) noexcept {
        return role == Role::client ? scenario_.client() : scenario_.server();
    }
    /// From the client, one for each line.
    [[nodiscard]] std::vector<proto::PathAddresses> ways();

    void begin(const Fault& fault);
    void end(const Fault& fault);
    /// Time in which nothing can be expected of any line: an end is away, or has only just come.
    void disturb_all(Instant until);

    /// Since when data could get through that line, as it is now; none: it cannot.
    [[nodiscard]] std::optional<Instant> works_since(std::size_t line) const noexcept;
    /// patience() of the line, with what still waits in its queues.
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
        Duration queued{};  ///< what waited when it was last changed
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
