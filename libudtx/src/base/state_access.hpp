// How the library makes public handles and reads the state behind them.
#pragma once

#include <utility>

#include "udtx/export.hpp"

namespace udtx {

struct StateAccess {
    template <class Handle>
    [[nodiscard]] static const auto& of(const Handle& handle) noexcept {
        return handle.state_;
    }
    template <class Handle, class... State>
    [[nodiscard]] static Handle make(State... state) {
        return Handle(std::move(state)...);
    }
};

}  // namespace udtx
