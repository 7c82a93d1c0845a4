# Instrumentation must cover every object of the build, so these flags are set for the directory and not for a target.
if(UDTX_COVERAGE)
    add_compile_options(--coverage -fprofile-update=prefer-atomic)
    add_link_options(--coverage)
endif()
if(UDTX_SANITIZE OR UDTX_COVERAGE)
    # Such processes write reports of their own, where a sandbox does not let them: none, unless it is asked for.
    set(UDTX_INSTRUMENTED ON)
    add_compile_definitions(UDTX_INSTRUMENTED)
endif()
if(UDTX_SANITIZE)
    add_compile_options(-fsanitize=${UDTX_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${UDTX_SANITIZE})
    if(UDTX_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=all)
    endif()
    # g++ cannot instrument the fences in Boost.Asio's headers and says so in our sources; the loop has one thread.
    if(UDTX_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        add_compile_options(-Wno-tsan)
    endif()
    # What runs little is compiled in half the time without optimising: the tools and the tests themselves.
    set(UDTX_SELDOM_RUN -O0)
    # A third of the time to compile a test: undefined behaviour is looked for in what is tested.
    if(UDTX_SANITIZE MATCHES "undefined")
        set(UDTX_TEST_SOURCES -fno-sanitize=undefined)
    endif()
    if(UDTX_SANITIZE MATCHES "address")
        set(UDTX_COMPUTING_TEST ASAN_OPTIONS=string_append::detect_stack_use_after_return=0)
    endif()
    # Container checks of libstdc++ (subscripts, empty optionals) come cheap in builds that look for bugs anyway.
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

# The tools beside the library parse, print and wait; tests call what is optimised. A third of the time to build everything.
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
