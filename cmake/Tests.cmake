# SPDX-License-Identifier: BSD-3-Clause
# How a test file becomes one CTest test, or several.
#
# Within its first ten lines a test file may say
#     LABELS: word word ...
# A word that names a device registers the test once for that device; without one it is a `nodevice` test:
#     nodevice      no device at all; these also run under the sanitizers
#     sources       reads files of the repository and runs nothing that is built, so not under the sanitizers
#     swiftshader   environment BL_DEVICE=swiftshader; the test's name gets the suffix @swiftshader
#     lavapipe      environment BL_DEVICE=lavapipe; suffix @lavapipe
#     native        environment BL_DEVICE=native; suffix @native
#     rayquery      environment BL_DEVICE=lavapipe, BL_RAY_BACKEND=query; suffix @rayquery
# DEVICE=long: on this device with scripts/test --long only, because the same test runs on others, faster.
# Other words:
#     serial        runs alone
#     turn          one day in BL_TURNS, on every device: what takes long and seldom breaks
#     timeout=N     seconds, more than the 1200 that every test has; times BL_TIMEOUT_FACTOR, which scripts/test sets for
#                   long tests and sanitizers. A time limit is there to end a test that hangs, not to measure one: it is
#                   ten times what the test takes on two busy cores, or more.
#     daily         under the sanitizers every day
#     threads       several threads at once; these also run under ThreadSanitizer (scripts/test --tsan, --long)
#     sanitized=DEVICE  on this device also under the address and undefined-behaviour sanitizers; with scripts/test --long
#                   all tests on native and SwiftShader are
#     anything else (long, conformance, ...) becomes a label; `long` tests run only with scripts/test --long
#
# Turns: each day scripts/test runs one of BL_TURNS turns; with --long, -R or -L it runs all. A label, turns and digits, tells on
# which turns a test runs; a test without one runs every day.
#   * A test that native runs, too, is the same test on the drivers, which takes them up to ten times longer: there it has one
#     turn, another one on each device.
#   * A test that several drivers run, and native does not, runs on one of them each day.
#   * Under the address sanitizer every test has one turn that is not labelled daily; elsewhere what is labelled turn.
#
# Every test sees BL_PROGRAM, BL_SOURCE_DIR, BL_BUILD_DIR, BL_PYTHON (a python3 with numpy), BL_CACHE_DIR (below tests/ of
# the build folder), and BL_REFERENCE where the folder of reference images is known. It runs in tests/run/DEVICE of the build
# folder. Where a test has the validation layer, synchronization validation also looks at what shaders access
# (VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC), which it does not by default.
# A test whose device or tool is missing exits with 77: reported as skipped, or as failed where BL_REQUIRE_ALL is on.

set(BL_TIMEOUT_FACTOR 1 CACHE STRING "What the time limits of tests are multiplied by")
set(BL_TURNS 5) # at most ten. Tests take shares of their cases by 2, 3, 4 or 10 days: a prime, so that each share gets its turn
set_property(GLOBAL PROPERTY BL_TURN 0) # the last one given
set(BL_DEVICE_LABELS nodevice sources swiftshader lavapipe native rayquery)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

# What the sanitizer build builds: the programs of tests that need no device, and of those labelled sanitized; nodevice_turn0
# and so on: those of one turn alone.
add_custom_target(sanitized_always)
add_custom_target(nodevice_tests)
add_dependencies(nodevice_tests sanitized_always)
math(EXPR bl_last_turn "${BL_TURNS} - 1")
foreach(turn RANGE ${bl_last_turn})
    add_custom_target(nodevice_turn${turn})
    add_dependencies(nodevice_turn${turn} sanitized_always)
endforeach()
# The same for ThreadSanitizer.
add_custom_target(threads_tests)
if(TARGET backlight_program)
    add_dependencies(sanitized_always backlight_program)
endif()

# bl_turns_of_driver(OUT K COUNT): which turns the driver K has of COUNT that share a test, as digits.
function(bl_turns_of_driver out k count)
    set(turns "")
    math(EXPR last "${BL_TURNS} - 1")
    foreach(turn RANGE ${k} ${last} ${count})
        string(APPEND turns ${turn})
    endforeach()
    set(${out} ${turns} PARENT_SCOPE)
endfunction()

# bl_add_test(NAME FILE COMMAND...): FILE is where the labels are read.
function(bl_add_test name file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
    set(words)
    file(STRINGS "${PROJECT_SOURCE_DIR}/${file}" head LIMIT_COUNT 10 ENCODING UTF-8)
    foreach(line IN LISTS head)
        if(line MATCHES "LABELS: *([A-Za-z0-9_= -]+)")
            separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
        endif()
    endforeach()
    set(devices)
    set(long_devices)
    set(sanitized_devices)
    set(labels)
    set(timeout 1200)
    set(serial OFF)
    set(seldom OFF)
    set(daily OFF)
    set(sanitized_turns)
    foreach(word IN LISTS words)
        if(word IN_LIST BL_DEVICE_LABELS)
            list(APPEND devices ${word})
        elseif(word MATCHES "^([a-z]+)=long$" AND CMAKE_MATCH_1 IN_LIST BL_DEVICE_LABELS)
            list(APPEND devices ${CMAKE_MATCH_1})
            list(APPEND long_devices ${CMAKE_MATCH_1})
        elseif(word MATCHES "^sanitized=([a-z]+)$")
            list(APPEND sanitized_devices ${CMAKE_MATCH_1})
        elseif(word STREQUAL "serial")
            set(serial ON)
        elseif(word STREQUAL "turn")
            set(seldom ON)
        elseif(word STREQUAL "daily")
            set(daily ON)
        elseif(word MATCHES "^timeout=([0-9]+)$")
            set(timeout ${CMAKE_MATCH_1})
        elseif(word MATCHES "^[A-Za-z]")
            list(APPEND labels ${word})
        endif()
    endforeach()
    math(EXPR timeout "${timeout} * ${BL_TIMEOUT_FACTOR}")
    if(NOT devices)
        set(devices nodevice)
    endif()
    set(vulkan_devices ${devices})
    list(REMOVE_ITEM vulkan_devices nodevice sources native)
    set(on_native OFF)
    if("native" IN_LIST devices AND NOT "native" IN_LIST long_devices)
        set(on_native ON)
    endif()
    set(sharing ${vulkan_devices})
    if(long_devices)
        list(REMOVE_ITEM sharing ${long_devices})
    endif()
    list(LENGTH sharing drivers)
    get_property(turn GLOBAL PROPERTY BL_TURN)
    foreach(device IN LISTS devices)
        set(test ${name})
        set(environment "BL_PROGRAM=${PROJECT_BINARY_DIR}/backlight" "BL_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
            "BL_BUILD_DIR=${PROJECT_BINARY_DIR}" "BL_SANITIZE=${BL_SANITIZE}" "BL_PYTHON=${BL_PYTHON}" "BL_CACHE_DIR=${PROJECT_BINARY_DIR}/tests/cache"
            VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1)
        if(BL_SANITIZE MATCHES "thread")
            list(APPEND environment "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/thread_sanitizer.supp")
        endif()
        if(NOT DEFINED ENV{BL_REFERENCE} AND EXISTS "${PROJECT_SOURCE_DIR}/../shared/reference")
            list(APPEND environment "BL_REFERENCE=${PROJECT_SOURCE_DIR}/../shared/reference")
        endif()
        if(NOT device MATCHES "^(nodevice|sources)$")
            string(APPEND test "@${device}")
        endif()
        if(device STREQUAL "swiftshader")
            list(APPEND environment BL_DEVICE=swiftshader)
        elseif(device STREQUAL "lavapipe")
            list(APPEND environment BL_DEVICE=lavapipe)
        elseif(device STREQUAL "native")
            list(APPEND environment BL_DEVICE=native)
        elseif(device STREQUAL "rayquery")
            list(APPEND environment BL_DEVICE=lavapipe BL_RAY_BACKEND=query)
        endif()
        set(folder "${PROJECT_BINARY_DIR}/tests/run/${device}") # one test on two devices writes files of one name
        file(MAKE_DIRECTORY "${folder}")
        add_test(NAME ${test} COMMAND ${ARGN} WORKING_DIRECTORY "${folder}")
        set(test_labels "${device}" ${labels})
        if(device IN_LIST long_devices)
            list(APPEND test_labels long)
        endif()
        if(device IN_LIST sanitized_devices)
            list(APPEND test_labels sanitized)
        endif()
        if((BL_SANITIZE MATCHES "address" AND NOT daily) OR
            (NOT BL_SANITIZE AND (seldom OR (on_native AND device IN_LIST vulkan_devices))))
            math(EXPR turn "(${turn} + 1) % ${BL_TURNS}")
            list(APPEND test_labels turns${turn})
            if(device STREQUAL "nodevice" OR device IN_LIST sanitized_devices)
                list(APPEND sanitized_turns ${turn})
            endif()
        elseif(NOT BL_SANITIZE AND drivers GREATER 1 AND device IN_LIST sharing)
            list(FIND sharing ${device} k)
            bl_turns_of_driver(turns ${k} ${drivers})
            list(APPEND test_labels turns${turns})
        endif()
        set_tests_properties(${test} PROPERTIES LABELS "${test_labels}" ENVIRONMENT "${environment}"
            TIMEOUT ${timeout} RUN_SERIAL ${serial})
        if(BL_REQUIRE_ALL)
            # cmocka's skip() ends a program with 0.
            set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
        else()
            set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
        endif()
    endforeach()
    set_property(GLOBAL PROPERTY BL_TURN ${turn})
    list(GET ARGN 0 program)
    if(TARGET ${program} AND ("nodevice" IN_LIST devices OR sanitized_devices))
        add_dependencies(nodevice_tests ${program})
        foreach(turn IN LISTS sanitized_turns)
            add_dependencies(nodevice_turn${turn} ${program})
        endforeach()
        if(daily)
            add_dependencies(sanitized_always ${program})
        endif()
    endif()
    if(TARGET ${program} AND "threads" IN_LIST labels)
        add_dependencies(threads_tests ${program})
    endif()
endfunction()
