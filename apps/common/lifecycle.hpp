// States that change only along the steps of a table.
#pragma once

#include <algorithm>
#include <cassert>
#include <iterator>

namespace udtx::apps {

template <class State>
struct Step {
    State from;
    State to;
};

/// The state of one object. `kSteps`: an array of all Steps that it may take. Any other is a bug of the caller.
template <const auto& kSteps>
class Lifecycle {
  public:
    using State = decltype(kSteps[0].from);

    constexpr explicit Lifecycle(State first) noexcept : state_(first) {}

    constexpr operator State() const noexcept { return state_; }  // NOLINT(google-explicit-constructor)
    constexpr void enter(State next) noexcept {
        assert(std::any_of(std::begin(kSteps), std::end(kSteps),
                           [&](const auto& step) { return step.from == state_ && step.to == next; }));
        state_ = next;
    }

  private:
    State state_;
};

}  // namespace udtx::apps
