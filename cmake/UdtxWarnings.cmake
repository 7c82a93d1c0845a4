# Not exported: users of an installed udtx keep their own warning flags.
add_library(udtx_warnings INTERFACE)
target_compile_options(udtx_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
    # Mutexes name what they guard (libudtx/src/base/thread_safety.hpp).
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
    # g++ 12 wrongly warns about overlapping copies in std::string's operator+ (GCC bug 105651, fixed in 13).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<BOOL:${UDTX_WERROR}>:-Werror>)
