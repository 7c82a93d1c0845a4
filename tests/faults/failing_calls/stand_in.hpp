// Defines functions that replace the C library's under the same name. The name is given as the assembler symbol, so the
// function does not conflict with the system's declaration and its attributes.
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
/// Defines a complete stand-in: the call fails with `failed` and errno, or the real one is called.
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
