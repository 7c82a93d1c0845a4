# Flags that make memory errors harder to exploit, for the library and the tools. A project that contains udtx does not
# get them. Builds with sanitizers do not need them, as they detect such errors.
include(CheckCXXSourceCompiles)
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)

add_library(udtx_hardening INTERFACE)
# For programs only: link options of a static library would apply to its users' programs, too.
add_library(udtx_hardened_link INTERFACE)
if(UDTX_INSTRUMENTED OR UDTX_FUZZ)
    return()
endif()

# Level 3 also checks computed sizes. Older compilers and C libraries warn about it or only have level 2.
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
# _FORTIFY_SOURCE needs optimisation, and debugging is easier without it.
target_compile_options(udtx_hardening INTERFACE
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>)

foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "UDTX_HAS${flag}" known)
    check_cxx_compiler_flag("-Werror ${flag}" ${known})  # some flags exist only on some processors
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
# Makes CMAKE_POSITION_INDEPENDENT_CODE also apply to the linking of programs.
check_pie_supported(LANGUAGES CXX)
