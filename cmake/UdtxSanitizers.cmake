# Instrumentation must cover every object of the build, so that these flags are set for the directory and not for a
# target.
if(UDTX_COVERAGE)
    add_compile_options(--coverage -fprofile-update=prefer-atomic)
    add_link_options(--coverage)
endif()
if(UDTX_SANITIZE OR UDTX_COVERAGE)
    # Instrumented processes write their own reports, which a sandbox would forbid. The sandbox is therefore off unless
    # a test asks for it.
    set(UDTX_INSTRUMENTED ON)
    add_compile_definitions(UDTX_INSTRUMENTED)
endif()
if(UDTX_SANITIZE)
    add_compile_options(-fsanitize=${UDTX_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${UDTX_SANITIZE})
    if(UDTX_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=all)
    endif()
    # g++ cannot instrument the fences in Boost.Asio's headers and warns about them in udtx's sources. The event loop
    # has only one thread.
    if(UDTX_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        add_compile_options(-Wno-tsan)
    endif()
    # g++ sees values without a start value in instrumented copies of std::optional. The other builds keep this warning.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        add_compile_options(-Wno-maybe-uninitialized)
    endif()
    # Code that runs little (the tools and the tests themselves) compiles in half the time without optimisation.
    set(UDTX_SELDOM_RUN -O0)
    # Takes a third off the time to compile a test: only the tested code is checked for undefined behaviour.
    if(UDTX_SANITIZE MATCHES "undefined")
        set(UDTX_TEST_SOURCES -fno-sanitize=undefined)
    endif()
    if(UDTX_SANITIZE MATCHES "address")
        set(UDTX_COMPUTING_TEST ASAN_OPTIONS=string_append::detect_stack_use_after_return=0)
    endif()
    # Container checks of libstdc++ (subscripts, empty optionals) cost little in builds with sanitizers.
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

# The tools only parse, print and wait, and tests call the library, which is fully optimised. This takes a third off the
# time of a full build.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT UDTX_SANITIZE)
    set(UDTX_SELDOM_RUN -O1)
    set(UDTX_TEST_SOURCES -O1)
endif()

if(UDTX_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "UDTX_FUZZ needs clang: cmake --preset fuzz")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Without this check, a missing runtime library would appear only after minutes, when the first program is linked.
if(UDTX_SANITIZE)
    include(CheckCXXSourceCompiles)
    set(sanitizers ${UDTX_SANITIZE})
    set(program "int main() { return 0; }")
    if(UDTX_FUZZ)
        string(PREPEND sanitizers "fuzzer,")
        set(program "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }")
    endif()
    set(CMAKE_REQUIRED_FLAGS "-fsanitize=${sanitizers}")
    check_cxx_source_compiles("${program}" UDTX_SANITIZERS_LINK)
    unset(CMAKE_REQUIRED_FLAGS)
    if(NOT UDTX_SANITIZERS_LINK)
        unset(UDTX_SANITIZERS_LINK CACHE)  # the next configuration tries again
        string(REGEX MATCH "^[0-9]+" major ${CMAKE_CXX_COMPILER_VERSION})
        set(package "compiler-rt of clang ${major} (Debian: libclang-rt-${major}-dev)")
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            set(package "libasan, libubsan and libtsan of g++ ${major} (Debian: libgcc-${major}-dev)")
        endif()
        message(FATAL_ERROR "${CMAKE_CXX_COMPILER} cannot link with -fsanitize=${sanitizers}: install ${package}")
    endif()
endif()
