// Errors for missing resources, and for exceptions of the application's code.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "udtx/result.hpp"

namespace udtx {

// Error messages for missing resources, such as memory, and for exceptions from the application's code.

[[nodiscard]] inline std::string describe_lack(const std::exception& thrown) {
    return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ? "out of memory" : thrown.what();
}

/// The error that ends a connection after `thrown`. Resources may be available again later; a fault of a plug-in stays.
[[nodiscard]] inline Error end_for_exception(const std::exception& thrown) {
    const bool lack = dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
                      dynamic_cast<const std::system_error*>(&thrown) != nullptr;
    if (!lack) return {ErrorCode::internal, thrown.what()};
    return {ErrorCode::no_resources,
            "no resources left for this connection (" + describe_lack(thrown) + "); try again later"};
}

// Calls code that the application provides.

/// Returns the result of `call`. Rethrows its exception as one that names `plug_in`; std::bad_alloc passes unchanged.
template <class Call>
decltype(auto) call_plug_in(const char* plug_in, Call&& call) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& thrown) {
        throw std::runtime_error(std::string(plug_in) + " failed: " + thrown.what());
    } catch (...) {
        throw std::runtime_error(std::string(plug_in) + " failed");
    }
}

}  // namespace udtx
