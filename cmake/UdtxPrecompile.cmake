# Who builds everything from nothing spends much of that time on headers that hundreds of sources read: with
# UDTX_PRECOMPILE, which ./dev sets, they are read once. Without it, which is how the linter compiles, they are read
# source by source, so that a missing include shows.
set(UDTX_STANDARD_HEADERS
    <algorithm> <array> <atomic> <chrono> <cmath> <cstddef> <cstdint> <cstring> <deque> <functional> <map> <memory>
    <mutex> <optional> <span> <string> <string_view> <system_error> <tuple> <unordered_map> <utility> <variant> <vector>)

if(UDTX_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    message(STATUS "UDTX_PRECOMPILE: for g++ and clang only, ignored")
    set(UDTX_PRECOMPILE OFF)
endif()
if(UDTX_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # For ccache: the time is not part of what was compiled.
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
elseif(UDTX_PRECOMPILE)
    # ccache keeps what was compiled with one only if the compiler says what was in it (and CCACHE_SLOPPINESS, in ./dev).
    add_compile_options(-fpch-preprocess)
    # Where headers were precompiled, g++ 12 warns of lengths in the standard library's own strings that cannot be; a
    # build without them says nothing there.
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        add_compile_options(-Wno-stringop-overflow -Wno-array-bounds)
    endif()
endif()

# udtx_precompile(<target> [headers...]): these and the standard library's.
function(udtx_precompile target)
    if(UDTX_PRECOMPILE)
        target_precompile_headers(${target} PRIVATE ${UDTX_STANDARD_HEADERS} ${ARGN})
    endif()
endfunction()

# udtx_precompile_as(<target> <other>): what <other> has; both have the same flags.
function(udtx_precompile_as target other)
    if(UDTX_PRECOMPILE)
        target_precompile_headers(${target} REUSE_FROM ${other})
    endif()
endfunction()

# udtx_join(<target>): several of its sources make one object, because what their headers expand to costs more to compile
# than what they say. Names that they keep to themselves must then differ.
function(udtx_join target)
    if(UDTX_PRECOMPILE)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    endif()
endfunction()
