// A function of this library that takes the place of one of the C library's, under its name. The name is given as the
// symbol, so that the system's own declaration, with its attributes, may stand beside it.
#pragma once

#include <dlfcn.h>

#include <cerrno>

#include "plan.hpp"

namespace udtx::faults {

template <typename Call>
Call real_call(const char* name) noexcept {
    return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

}  // namespace udtx::faults

#define UDTX_STAND_IN(result, name, parameters)              \
    extern "C" result udtx_##name parameters __asm__(#name); \
    extern "C" result udtx_##name parameters

#define UDTX_REAL(name, parameters_and_result) \
    static const auto real = udtx::faults::real_call<parameters_and_result>(#name)

// NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters and of arguments, parentheses and all
/// The whole of a call that fails with `failed` and errno, or is made.
#define UDTX_FAILS(kind, result, failed, name, parameters, arguments)                  \
    UDTX_STAND_IN(result, name, parameters) {                                          \
        static const auto real = udtx::faults::real_call<result(*) parameters>(#name); \
        if (const int error = udtx::faults::error_of(kind)) {                          \
            errno = error;                                                             \
            return failed;                                                             \
        }                                                                              \
        return real arguments;                                                         \
    }
// NOLINTEND(bugprone-macro-parentheses)
