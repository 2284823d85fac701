/* SPDX-License-Identifier: BSD-3-Clause
 * Result codes of Backlight, one row each: name, value, what it means to the caller.
 * Values are part of the binary interface: append, never renumber. */
#ifndef BACKLIGHT_RESULT_H
#define BACKLIGHT_RESULT_H

#define BL_RESULT_TABLE(X)                                                                                   \
    X(OK, 0, "success")                                                                                      \
    X(ERROR_ARGUMENT, 1, "an argument of the call is wrong")                                                 \
    X(ERROR_MEMORY, 2, "out of host memory")                                                                 \
    X(ERROR_IO, 3, "a file could not be read or written")                                                    \
    X(ERROR_FORMAT, 4, "a file's content is malformed")                                                      \
    X(ERROR_SCENE, 5, "the scene is invalid")                                                                \
    X(ERROR_UNSUPPORTED, 6, "valid, but not implemented")                                                    \
    X(ERROR_NO_DEVICE, 7, "no suitable Vulkan device")                                                       \
    X(ERROR_DEVICE, 8, "a Vulkan call failed")                                                               \
    X(ERROR_DEVICE_MEMORY, 9, "out of device memory")                                                        \
    X(ERROR_DEVICE_LOST, 10, "the device was lost")                                                          \
    X(ERROR_COMPILE, 11, "a kernel could not be built")                                                      \
    X(ERROR_CANCELLED, 12, "cancelled by the caller")                                                        \
    X(ERROR_BOUNDS, 13, "a checked kernel reached beyond a buffer")                                          \
    X(ERROR_LIMIT, 14, "more than a limit allows")

typedef enum bl_result {
#define BL_RESULT_ENUM(name, value, text) BL_##name = value,
    BL_RESULT_TABLE(BL_RESULT_ENUM)
#undef BL_RESULT_ENUM
} bl_result;

#endif
