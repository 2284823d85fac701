# SPDX-License-Identifier: BSD-3-Clause
# Libraries without a CMake package of their own that works in a project of C alone, as imported targets. Installed
# with the package (cmake/BacklightConfig.cmake.in), because programs that link the static library need some of them.

# bl_find_library(TARGET HEADER LIBRARY... [SUFFIX FOLDER] [OPTIONAL]): the target is defined when both were found;
# LIBRARY "-" means a header alone. SUFFIX names a folder below include/ where the header may also lie.
function(bl_find_library target header)
    if(TARGET ${target}) # the surrounding project's
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 2 arg "OPTIONAL" "SUFFIX" "")
    string(MAKE_C_IDENTIFIER "${target}" id)
    find_path(${id}_INCLUDE ${header} PATH_SUFFIXES ${arg_SUFFIX})
    mark_as_advanced(${id}_INCLUDE)
    set(missing)
    if(NOT ${id}_INCLUDE)
        list(APPEND missing "${header}")
    endif()
    set(link)
    foreach(name IN LISTS arg_UNPARSED_ARGUMENTS)
        if(name STREQUAL "-")
            continue()
        endif()
        find_library(${id}_${name} ${name})
        mark_as_advanced(${id}_${name})
        if(NOT ${id}_${name})
            list(APPEND missing "lib${name}")
        endif()
        list(APPEND link "${${id}_${name}}")
    endforeach()
    if(missing)
        list(JOIN missing ", " missing)
        if(NOT arg_OPTIONAL)
            message(FATAL_ERROR "${target} not found (${missing}): scripts/setup installs it, "
                "or set CMAKE_PREFIX_PATH; see docs/dependencies.md")
        endif()
        message(STATUS "${target} not found (${missing})")
        return()
    endif()
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} SYSTEM INTERFACE "${${id}_INCLUDE}")
    target_link_libraries(${target} INTERFACE ${link})
endfunction()
