# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: the program, both libraries with their headers, what find_package(Backlight) and
# pkg-config read, and SwiftShader where scripts/setup has it, which the library looks for in BL_DATA_DIR. Components are
# the packages of cmake/Package.cmake.

include(CMakePackageConfigHelpers)
set(with_zydis OFF)
if(TARGET x86)
    set(with_zydis ON)
endif()

install(TARGETS backlight_shared EXPORT BacklightTargets-shared
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS backlight_static EXPORT BacklightTargets-static COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY include/backlight TYPE INCLUDE COMPONENT development FILES_MATCHING PATTERN "*.h")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Backlight")
foreach(kind IN ITEMS shared static)
    install(EXPORT BacklightTargets-${kind} NAMESPACE Backlight:: DESTINATION "${package_dir}" COMPONENT development)
endforeach()
configure_package_config_file(cmake/BacklightConfig.cmake.in generated/BacklightConfig.cmake
    INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
# While the major version is 0, a minor one may change what programs see (docs/versions.md).
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/BacklightConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/BacklightConfig.cmake" cmake/FindLibrary.cmake
    "${PROJECT_BINARY_DIR}/generated/BacklightConfigVersion.cmake" DESTINATION "${package_dir}" COMPONENT development)

# ---- pkg-config --------------------------------------------------------------------------------------------------

# Relative to the file's own place, so that the folder may be moved.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
set(pc_private "-lcjson -lexpat -ljpeg -lOpenEXRCore -lpng -lz -lpthread -ldl -lm")
if(with_zydis)
    string(APPEND pc_private " -lZydis")
endif()
if(BL_EMBREE)
    string(APPEND pc_private " -lembree${embree_VERSION_MAJOR}")
endif()
if(BL_OPENVDB)
    string(APPEND pc_private " -lopenvdb -ltbb -lImath -lstdc++")
endif()
configure_file(cmake/backlight.pc.in "${PROJECT_BINARY_DIR}/generated/backlight.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/backlight.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT development)

# ---- the program, and a driver for it -----------------------------------------------------------------------------

if(TARGET backlight_program)
    file(RELATIVE_PATH to_libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
    if(BUILD_SHARED_LIBS)
        set_target_properties(backlight_program PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
    endif()
    install(TARGETS backlight_program COMPONENT program)
    # Manual pages and completion, which the program itself writes from its tables of options.
    if(NOT CMAKE_CROSSCOMPILING)
        set(manual "${PROJECT_BINARY_DIR}/manual")
        add_custom_command(TARGET backlight_program POST_BUILD VERBATIM
            COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:backlight_program>" "-DFOLDER=${manual}"
                -P "${PROJECT_SOURCE_DIR}/cmake/Manual.cmake")
        install(DIRECTORY "${manual}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT program)
        install(FILES "${manual}/bash/backlight" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT program)
        install(FILES "${manual}/zsh/_backlight" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT program)
        install(FILES "${manual}/fish/backlight.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
            COMPONENT program)
    endif()
endif()
set(swiftshader "${PROJECT_SOURCE_DIR}/build/swiftshader/libvk_swiftshader.so")
if(EXISTS "${swiftshader}")
    install(FILES "${swiftshader}" DESTINATION "${BL_DATA_DIR}/swiftshader" COMPONENT swiftshader)
endif()

include(Package)
