// Calls of what a program brings along.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace udtx {

/// What `call` returns. Whatever else than a lack of something it throws, is thrown on as one that names `plug_in`.
template <class Call>
decltype(auto) call_plug_in(const char* plug_in, Call&& call) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::system_error&) {
        throw;
    } catch (const std::exception& thrown) {
        throw std::runtime_error(std::string(plug_in) + " failed: " + thrown.what());
    } catch (...) {
        throw std::runtime_error(std::string(plug_in) + " failed");
    }
}

}  // namespace udtx
