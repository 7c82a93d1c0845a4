# Never exported: whoever builds on an installed udtx keeps their own warning flags.
add_library(udtx_warnings INTERFACE)
target_compile_options(udtx_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
    $<$<BOOL:${UDTX_WERROR}>:-Werror>)
