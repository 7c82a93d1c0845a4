# What makes a mistake in memory harder to use: for the library and the tools, and for nothing of a project that has udtx
# as a part. Builds with sanitizers look for such mistakes by themselves.
include(CheckCXXSourceCompiles)
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)

add_library(udtx_hardening INTERFACE)
# For programs alone: what a static library is linked with would reach the programs of others.
add_library(udtx_hardened_link INTERFACE)
if(UDTX_INSTRUMENTED OR UDTX_FUZZ)
    return()
endif()

# Level 3 knows sizes that are computed; older compilers and C libraries warn of it, or have 2.
set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_cxx_source_compiles("#include <cstring>
    #if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < 3
    #error
    #endif
    int main() {}" UDTX_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
set(level 2)
if(UDTX_HAS_FORTIFY_3)
    set(level 3)
endif()
# It needs an optimiser, and debuggers see more without it.
target_compile_options(udtx_hardening INTERFACE
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>)

foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "UDTX_HAS${flag}" known)
    check_cxx_compiler_flag("-Werror ${flag}" ${known})  # some are for some processors only
    if(${known})
        target_compile_options(udtx_hardening INTERFACE ${flag})
    endif()
endforeach()
foreach(flag IN ITEMS relro now noexecstack)
    check_linker_flag(CXX "-Wl,-z,${flag}" UDTX_HAS_LINK_${flag})
    if(UDTX_HAS_LINK_${flag})
        target_link_options(udtx_hardened_link INTERFACE "LINKER:-z,${flag}")
    endif()
endforeach()
# CMAKE_POSITION_INDEPENDENT_CODE then holds for linking programs as well.
check_pie_supported(LANGUAGES CXX)
