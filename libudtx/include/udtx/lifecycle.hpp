// States that change only along the steps of a table. The library and its tools keep the state of a file, a job, a
// stream or a session so.
#pragma once

#include <algorithm>
#include <cassert>
#include <iterator>

namespace udtx {

/// A change of state that is allowed.
template <class State>
struct Step {
    State from;  ///< state before
    State to;    ///< state after
};

/// The state of one object. `kSteps`: an array of all Steps that it may take. Any other is a bug of the caller, which
/// builds with assertions detect. Not for several threads at the same time.
template <const auto& kSteps>
class Lifecycle {
  public:
    /// An enum.
    using State = decltype(kSteps[0].from);

    /// Begins in the state `first`.
    constexpr explicit Lifecycle(State first) noexcept : state_(first) {}

    /// The present state.
    constexpr operator State() const noexcept { return state_; }  // NOLINT(google-explicit-constructor)
    /// Takes the step to `next`.
    constexpr void enter(State next) noexcept {
        assert(std::any_of(std::begin(kSteps), std::end(kSteps),
                           [&](const auto& step) { return step.from == state_ && step.to == next; }));
        state_ = next;
    }

  private:
    State state_;
};

}  // namespace udtx
