# SPDX-License-Identifier: BSD-3-Clause
# What Backlight is built with, as imported targets. Point CMAKE_PREFIX_PATH at unusual places. docs/dependencies.md says
# what each is for.

include(FindLibrary)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PNG REQUIRED)
find_package(EXPAT REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
bl_find_library(Vulkan::Headers vulkan/vulkan.h -)
bl_find_library(SPIRV::Headers spirv/unified1/spirv.h -)
bl_find_library(OpenEXR::Core openexr.h OpenEXRCore SUFFIX OpenEXR)
bl_find_library(cJSON::cJSON cjson/cJSON.h cjson)
bl_find_library(xxHash::headers xxhash.h -)
bl_find_library(stb::headers stb_image.h - SUFFIX stb)
bl_find_library(CHOLMOD::headers cholmod.h - SUFFIX suitesparse OPTIONAL) # opened at run time
bl_find_library(Zydis::Zydis Zydis/Zydis.h Zydis OPTIONAL)
bl_find_library(volk::headers volk.h -)
if(BL_BUILD_SAMPLES)
    bl_find_library(glfw::glfw GLFW/glfw3.h glfw OPTIONAL)
endif()
list(APPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/build/nanovdb/usr") # where scripts/setup unpacks it
bl_find_library(NanoVDB::headers nanovdb/PNanoVDB.h - OPTIONAL)

find_program(BL_GLSLANG NAMES glslangValidator glslang)
if(NOT BL_GLSLANG)
    message(FATAL_ERROR "glslangValidator not found: scripts/setup installs it; see docs/dependencies.md")
endif()

# SPIRV-Tools is C++ behind a C face; distributions ship it as static libraries, shared ones, or both.
bl_find_library(SPIRV::Tools spirv-tools/libspirv.h SPIRV-Tools OPTIONAL)
if(TARGET SPIRV::Tools)
    target_link_libraries(SPIRV::Tools INTERFACE stdc++)
endif()
bl_find_library(cmocka::lib cmocka.h cmocka OPTIONAL)

# The first python3 that has numpy: the one in front of PATH often has not.
function(bl_python_has_numpy result candidate)
    execute_process(COMMAND "${candidate}" -c "import numpy" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()
find_program(BL_PYTHON NAMES python3 VALIDATOR bl_python_has_numpy)
mark_as_advanced(BL_GLSLANG BL_PYTHON)
