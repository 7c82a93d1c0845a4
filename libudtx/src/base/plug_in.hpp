// Calls code that the application provides.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace udtx {

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
