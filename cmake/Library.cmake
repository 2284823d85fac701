# SPDX-License-Identifier: BSD-3-Clause
# The library, out of the objects of all parts (bl_parts), three times:
#
#   backlight_internal  an archive of them as they are; tests link it and call what is inside
#   backlight_static    libbacklight.a: one object, in which all that is not public has become local, so that a program
#                       may use our names for functions of its own
#   backlight_shared    libbacklight.so: exports what BL_API marks
#
# Backlight::backlight is backlight_shared where BUILD_SHARED_LIBS is on, and backlight_static elsewhere. docs/versions.md
# says what the numbers in names and symbols mean.

set(BL_ABI 0) # of the SONAME: raised when a program that was linked to an earlier version may no longer run

set(bl_libraries cJSON::cJSON EXPAT::EXPAT JPEG::JPEG OpenEXR::Core PNG::PNG ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS} m)
if(TARGET x86)
    list(APPEND bl_libraries Zydis::Zydis)
endif()
if(BL_EMBREE)
    list(APPEND bl_libraries embree)
endif()
if(BL_OPENVDB)
    list(APPEND bl_libraries OpenVDB::OpenVDB stdc++)
endif()

# ---- what the tests link -----------------------------------------------------------------------------------------

add_library(backlight_internal STATIC EXCLUDE_FROM_ALL)
foreach(part IN LISTS bl_parts)
    target_sources(backlight_internal PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
set_target_properties(backlight_internal PROPERTIES LINKER_LANGUAGE C)
target_include_directories(backlight_internal PUBLIC include)
target_link_libraries(backlight_internal PRIVATE ${bl_libraries})
if(BL_SANITIZE)
    target_link_options(backlight_internal INTERFACE -fsanitize=${BL_SANITIZE})
endif()

# ---- static: one object ------------------------------------------------------------------------------------------

if(NOT CMAKE_OBJCOPY)
    message(FATAL_ERROR "objcopy not found (Debian: binutils): it makes names of the static library local")
endif()
# Groups of C++ (--force-group-allocation) must be gone before their members become local, and so must what is not yet
# machine code where somebody builds with link-time optimisation (nolto-rel).
set(to_code)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(to_code -flinker-output=nolto-rel)
endif()
set(bl_object "${PROJECT_BINARY_DIR}/backlight$<$<BOOL:$<CONFIG>>:-$<CONFIG>>.o")
add_custom_command(OUTPUT "${bl_object}"
    COMMAND "${CMAKE_C_COMPILER}" -r -nostdlib ${to_code} -Wl,--force-group-allocation
        -Wl,--whole-archive $<TARGET_FILE:backlight_internal> -Wl,--no-whole-archive -o "${bl_object}"
    COMMAND "${CMAKE_OBJCOPY}" --wildcard --localize-hidden --keep-global-symbol=bl_* "${bl_object}"
    DEPENDS backlight_internal COMMENT "Making names of libbacklight.a local" VERBATIM)
add_library(backlight_static STATIC EXCLUDE_FROM_ALL "${bl_object}")
set_source_files_properties("${bl_object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)

# ---- shared ------------------------------------------------------------------------------------------------------

add_library(backlight_shared SHARED EXCLUDE_FROM_ALL)
foreach(part IN LISTS bl_parts)
    target_sources(backlight_shared PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/backlight.map.in" "${PROJECT_BINARY_DIR}/generated/backlight.map" @ONLY)
set_target_properties(backlight_shared PROPERTIES VERSION ${BL_ABI}.${PROJECT_VERSION} SOVERSION ${BL_ABI}
    LINK_DEPENDS "${PROJECT_BINARY_DIR}/generated/backlight.map")
target_link_options(backlight_shared PRIVATE "-Wl,--version-script=${PROJECT_BINARY_DIR}/generated/backlight.map")

# ---- both --------------------------------------------------------------------------------------------------------

foreach(kind IN ITEMS static shared)
    set_target_properties(backlight_${kind} PROPERTIES OUTPUT_NAME backlight LINKER_LANGUAGE C EXPORT_NAME ${kind})
    if(BL_INSTALL)
        set_target_properties(backlight_${kind} PROPERTIES EXCLUDE_FROM_ALL OFF)
    endif()
    target_include_directories(backlight_${kind} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
    target_link_libraries(backlight_${kind} PRIVATE ${bl_libraries})
    if(BL_SANITIZE)
        target_link_options(backlight_${kind} PUBLIC -fsanitize=${BL_SANITIZE})
    endif()
    add_library(Backlight::${kind} ALIAS backlight_${kind})
endforeach()
if(BUILD_SHARED_LIBS)
    add_library(Backlight::backlight ALIAS backlight_shared)
else()
    add_library(Backlight::backlight ALIAS backlight_static)
endif()
