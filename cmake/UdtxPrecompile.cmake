# A full build spends much of its time on headers that hundreds of sources include. With UDTX_PRECOMPILE, which ./dev
# sets, these headers are compiled once. The linter compiles without it: then each source reads its own headers, and a
# missing include causes an error.
set(UDTX_STANDARD_HEADERS
    <algorithm> <array> <atomic> <chrono> <cmath> <cstddef> <cstdint> <cstring> <deque> <functional> <map> <memory>
    <mutex> <optional> <span> <string> <string_view> <system_error> <tuple> <unordered_map> <utility> <variant> <vector>)

if(UDTX_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    message(STATUS "UDTX_PRECOMPILE: for g++ and clang only, ignored")
    set(UDTX_PRECOMPILE OFF)
endif()
if(UDTX_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # For ccache: leaves the timestamp out of precompiled headers.
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
elseif(UDTX_PRECOMPILE)
    # ccache keeps objects with precompiled headers only with this option (and with CCACHE_SLOPPINESS, which ./dev
    # sets).
    add_compile_options(-fpch-preprocess)
    # With precompiled headers, g++ 12 warns about impossible lengths in the standard library's strings. Without them it
    # does not.
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        add_compile_options(-Wno-stringop-overflow -Wno-array-bounds)
    endif()
endif()

# udtx_precompile(<target> [headers...]): precompiles these headers and the standard library's.
function(udtx_precompile target)
    if(UDTX_PRECOMPILE)
        target_precompile_headers(${target} PRIVATE ${UDTX_STANDARD_HEADERS} ${ARGN})
    endif()
endfunction()

# udtx_precompile_as(<target> <other>): uses the precompiled headers of <other>. Both targets must have the same flags.
function(udtx_precompile_as target other)
    if(UDTX_PRECOMPILE)
        target_precompile_headers(${target} REUSE_FROM ${other})
    endif()
endfunction()

# udtx_join(<target>): compiles several sources of the target into one object, as their headers cost more to compile
# than their own code. Names in the sources' unnamed namespaces must then differ.
function(udtx_join target)
    if(UDTX_PRECOMPILE)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    endif()
endfunction()
