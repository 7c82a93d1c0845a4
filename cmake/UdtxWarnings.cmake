# Never exported: whoever builds on an installed udtx keeps their own warning flags.
add_library(udtx_warnings INTERFACE)
target_compile_options(udtx_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
    # g++ 12 sees overlapping copies in std::string's operator+ where there are none (GCC bug 105651, mended in 13).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<BOOL:${UDTX_WERROR}>:-Werror>)
