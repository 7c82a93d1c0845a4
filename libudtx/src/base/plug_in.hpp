// Calls of what a program brings along.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace udtx {

/// What `call` returns. What it throws is thrown on as one that names `plug_in`, but for a lack of memory.
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
