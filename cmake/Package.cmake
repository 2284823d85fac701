# SPDX-License-Identifier: BSD-3-Clause
# Debian packages, one a component of cmake/Install.cmake: cpack -G DEB. They go where the build was configured to go,
# which for a distribution is /usr (the preset `debian`).
#
#   backlight              the program
#   libbacklight0          the shared library; the number is the one of its SONAME
#   libbacklight-dev       headers, the static library, CMake and pkg-config files
#   backlight-swiftshader  the Vulkan driver for processors, where scripts/setup has found one
#
# Dependencies on other packages are read out of the binaries by dpkg-shlibdeps. What is opened at run time, and what the
# static library needs, is named here.

set(runtime_package libbacklight${BL_ABI})
set(BL_MAINTAINER "The Backlight authors <backlight@localhost>" CACHE STRING
    "Maintainer of Debian packages: who builds them")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME backlight)
set(CPACK_PACKAGE_VENDOR "The Backlight authors")
set(CPACK_PACKAGE_CONTACT "${BL_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}") # the program's, of our own library
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr") # CPack thinks of the dynamic linker's cache there alone
    file(WRITE "${PROJECT_BINARY_DIR}/generated/triggers" "activate-noawait ldconfig\n")
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/generated/triggers")
endif()

# bl_package(COMPONENT NAME SECTION DESCRIPTION COPYRIGHT)
macro(bl_package component name section description copyright)
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
    install(FILES ${copyright} DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}" RENAME copyright COMPONENT ${component})
endmacro()

bl_package(program backlight graphics
    "The program: renders scenes of Mitsuba 3 and gradients of images by what is in them, and fits scenes to pictures."
    LICENSE)
bl_package(runtime ${runtime_package} libs "The shared library, for programs that are linked to it." LICENSE)
bl_package(development libbacklight-dev libdevel
    "Headers, the static library, and what find_package and pkg-config read." LICENSE)

# A device, and what the library opens when it is asked for large steps.
set(recommended "libvulkan1")
if(EXISTS "${swiftshader}")
    list(APPEND CPACK_COMPONENTS_ALL swiftshader)
    bl_package(swiftshader backlight-swiftshader libs
        "SwiftShader, a Vulkan driver for processors, which only Backlight sees." cmake/swiftshader-copyright)
    string(APPEND recommended ", backlight-swiftshader")
endif()
if(TARGET CHOLMOD::headers)
    file(GLOB files "${CHOLMOD__headers_INCLUDE}/cholmod*.h")
    foreach(file IN LISTS files) # one of them has the version, which one depends on it
        file(STRINGS "${file}" found REGEX "#define CHOLMOD_MAIN_VERSION +[0-9]+")
        string(APPEND line "${found}")
    endforeach()
    string(REGEX MATCH "[0-9]+" cholmod_version "${line}")
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS libcholmod${cholmod_version})
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS libcholmod${cholmod_version})
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "${recommended}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${recommended}")

if(BUILD_SHARED_LIBS) # dpkg-shlibdeps does not know the package of a library that is not installed
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")
endif()
set(static_needs "libcjson-dev, libexpat1-dev, libjpeg-dev, libopenexr-dev, libpng-dev, zlib1g-dev")
if(with_zydis)
    string(APPEND static_needs ", libzydis-dev")
endif()
if(BL_EMBREE)
    string(APPEND static_needs ", libembree-dev")
endif()
if(BL_OPENVDB)
    string(APPEND static_needs ", libopenvdb-dev")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS libvulkan-dev) # backlight_vulkan.h includes its headers
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION}), ${static_needs}")

include(CPack)
