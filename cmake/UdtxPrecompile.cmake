# A build for a sanitizer is made from nothing on each CI machine, and much of its time goes into headers that hundreds of
# sources read: there they are read once. A release, which is what developers and the linter compile, reads them source
# by source, so that a missing include shows.
set(UDTX_STANDARD_HEADERS
    <algorithm> <array> <atomic> <chrono> <cmath> <cstddef> <cstdint> <cstring> <deque> <functional> <map> <memory>
    <mutex> <optional> <span> <string> <string_view> <system_error> <tuple> <unordered_map> <utility> <variant> <vector>)

set(UDTX_PRECOMPILE OFF)
if(UDTX_SANITIZE AND NOT UDTX_FUZZ AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(UDTX_PRECOMPILE ON)
    # ccache keeps what was compiled with one only if the compiler says what was in it (and CCACHE_SLOPPINESS, in ./dev).
    add_compile_options(-fpch-preprocess)
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
