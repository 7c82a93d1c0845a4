# Slots of a test run that a test takes: a long computation, a usual test, or a test that mostly waits. ./dev provides
# six slots per processor.
set(UDTX_SLOTS_COMPUTES 4 CACHE INTERNAL "")
set(UDTX_SLOTS_USUAL 3 CACHE INTERNAL "")
set(UDTX_SLOTS_WAITS 1 CACHE INTERNAL "")

# udtx_add_computing(<name> <test> [arguments...]): adds a ctest entry for a test that computes. It runs at a low
# priority, so that tests that wait for real time run first on its processor.
function(udtx_add_computing name test)
    add_test(NAME ${name} COMMAND nice -n 10 $<TARGET_FILE:${test}> ${ARGN})
    set_tests_properties(${name} PROPERTIES PROCESSORS ${UDTX_SLOTS_COMPUTES} TIMEOUT 600
        ENVIRONMENT_MODIFICATION "${UDTX_COMPUTING_TEST}")
endfunction()

# udtx_add_test(<name> SOURCES <files...> [LIBS <targets...>] [LABELS <labels...>] [TIMEOUT <seconds>] [COMPUTES] [JOINED]
#               [WHOLE])
# Adds one executable of Catch2 cases and one ctest entry of the same name. COMPUTES: the test computes for long, and is
# optimised also in builds with sanitizers, as the linker may keep the test's copy of a template. It does not detect
# use after return, which takes two thirds of a simulation's time; the other tests and the tools' tests do.
# JOINED: compiles several sources at a time, which takes less than half the time (udtx_join).
# WHOLE: the cases tagged [whole] run at their full size or not at all (UDTX_WHOLE_ONLY). They are a separate entry
# <name>_whole, which ctest reports as skipped in builds that leave them out.
function(udtx_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "COMPUTES;JOINED;WHOLE" "TIMEOUT" "SOURCES;LIBS;LABELS")
    if(NOT UDTX_BUILD_TESTS)
        return()
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
    target_link_libraries(${name} PRIVATE ${arg_LIBS} udtx_test_main udtx_warnings)
    set(like udtx_precompiled_computing)
    target_compile_options(${name} PRIVATE ${UDTX_TEST_SOURCES})
    if(NOT arg_COMPUTES)
        set(like udtx_precompiled_test)
        target_compile_options(${name} PRIVATE ${UDTX_SELDOM_RUN})
    endif()
    udtx_precompile_as(${name} ${like})
    if(arg_JOINED)
        udtx_join(${name})
    endif()
    set(others "")
    if(arg_WHOLE)
        set(others "~[whole]")
        udtx_add_computing(${name}_whole ${name} "[whole]")
        set_tests_properties(${name}_whole PROPERTIES LABELS "${arg_LABELS};sweep" SKIP_REGULAR_EXPRESSION "SKIPPED: ")
    endif()
    if(arg_COMPUTES)
        udtx_add_computing(${name} ${name} ${others})
    else()
        add_test(NAME ${name} COMMAND ${name} ${others})
        set_tests_properties(${name} PROPERTIES PROCESSORS ${UDTX_SLOTS_USUAL})
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()

# udtx_add_fuzz(<name> [LIBS <targets...>] [SOURCES <files...>] [WHOLE])
# <name>.cpp defines LLVMFuzzerTestOneInput. With UDTX_FUZZ it becomes a libFuzzer binary under <build>/fuzz. Otherwise
# a ctest entry replays the seeds in corpus/<name> and every truncation of them, so that each build checks the findings
# of fuzzing. WHOLE: no truncations, for targets that take a millisecond per input. SOURCES: additional sources.
function(udtx_add_fuzz name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "" "SOURCES;LIBS")
    if(UDTX_FUZZ)
        add_executable(${name} ${name}.cpp ${arg_SOURCES})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
        add_dependencies(udtx-fuzz ${name})
    elseif(UDTX_BUILD_TESTS)
        add_executable(${name} ${name}.cpp ${arg_SOURCES})
        target_link_libraries(${name} PRIVATE udtx_fuzz_replay)
        target_compile_options(${name} PRIVATE ${UDTX_TEST_SOURCES} ${UDTX_SELDOM_RUN})
        udtx_precompile_as(${name} udtx_precompiled_test)
        set(whole "")
        if(arg_WHOLE)
            set(whole --whole)
        endif()
        add_test(NAME ${name} COMMAND ${name} ${whole} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
        set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
    else()
        return()
    endif()
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
    target_link_libraries(${name} PRIVATE ${arg_LIBS} udtx_warnings)
endfunction()
