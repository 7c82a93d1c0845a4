// How the library reads the state behind a public handle.
#pragma once

#include "udtx/export.hpp"

namespace udtx {

struct StateAccess {
    template <class Handle>
    [[nodiscard]] static const auto& of(const Handle& handle) noexcept {
        return handle.state_;
    }
};

}  // namespace udtx
