// Error messages for missing resources, such as memory, and for exceptions from the application's code.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "udtx/error.hpp"

namespace udtx {

[[nodiscard]] inline std::string describe_lack(const std::exception& thrown) {
    return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ? "out of memory" : thrown.what();
}

/// The error that ends a connection after `thrown`. Resources may be available again later; a fault of a plug-in stays.
[[nodiscard]] inline Error end_for_exception(const std::exception& thrown) {
    const bool lack = dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
                      dynamic_cast<const std::system_error*>(&thrown) != nullptr;
    if (!lack) return {ErrorCode::internal, thrown.what()};
    return {ErrorCode::network,
            "no resources left for this connection (" + describe_lack(thrown) + "); try again later"};
}

}  // namespace udtx
