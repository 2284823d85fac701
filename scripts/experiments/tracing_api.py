# SPDX-License-Identifier: BSD-3-Clause
"""The tracing compiler (include/backlight/backlight_ir.h) from Python, as much as micro-benchmarks need."""
import ctypes
import os
import sys
import time

import numpy as np

import report

LIBRARY = os.environ.get("BL_LIBRARY", os.path.join(os.path.dirname(report.PROGRAM), "libbacklight.so"))
F32, U32 = 4, 3


class Value(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint32)]


def load():
    lib = ctypes.CDLL(LIBRARY)
    lib.bl_ir_create.restype = lib.bl_ir_func_create.restype = ctypes.c_void_p
    for name in ("bl_context_error", "bl_ir_error"):
        getattr(lib, name).restype = ctypes.c_char_p
    for name in ("param f32 u32 global_id load add sub mul mod xor lt loop to_f32".split()):
        getattr(lib, "bl_ir_" + name).restype = Value
    lib.bl_ir_f32.argtypes = [ctypes.c_void_p, ctypes.c_float]
    return lib


class Function:
    """f.add(a, b) is bl_ir_add(f, a, b), and so on."""

    def __init__(self, trace, name):
        self.trace, self.lib = trace, trace.lib
        self.f = ctypes.c_void_p(trace.lib.bl_ir_func_create(trace.ir, name.encode()))

    def __getattr__(self, name):
        function = getattr(self.lib, "bl_ir_" + name)
        return lambda *args: function(self.f, *args)

    def returned(self, *values):
        self.lib.bl_ir_return(self.f, (Value * len(values))(*values), ctypes.c_uint32(len(values)))
        return self

    def call(self, selector, targets, args, results):
        out = (Value * results)()
        self.lib.bl_ir_call(self.f, selector, (ctypes.c_void_p * len(targets))(*(t.f for t in targets)), ctypes.c_uint32(len(targets)),
                            (Value * len(args))(*args), ctypes.c_uint32(len(args)), out, ctypes.c_uint32(results))
        return list(out)

    def repeat(self, state, count, step):
        """state = step(state), so many times, as a loop."""
        states = (Value * 2)(state, self.u32(0))
        loop = self.loop(states, 2)
        getattr(self.lib, "bl_ir_while")(self.f, self.lt(states[1], self.u32(count)))
        following = (Value * 2)(step(states[0]), self.add(states[1], self.u32(1)))
        self.lib.bl_ir_endloop(self.f, loop, following, ctypes.c_uint32(2))
        return states[0]


class Trace:
    def __init__(self, lib, buffers):
        self.lib, self.ir = lib, ctypes.c_void_p(lib.bl_ir_create())
        self.buffers = [lib.bl_ir_buffer(self.ir, ("b%d" % k).encode(), False) for k in range(buffers)]

    def function(self, name):
        return Function(self, name)

    def entry(self, f):
        f.returned()
        self.lib.bl_ir_entry(f.f)
        error = self.lib.bl_ir_error(self.ir)
        assert not error, error

    def text(self, optimised):
        out = ctypes.c_void_p()
        assert not self.lib.bl_ir_text(self.ir, ctypes.c_bool(optimised), ctypes.byref(out)), self.lib.bl_ir_error(self.ir)
        return ctypes.string_at(out.value).decode()

    def destroy(self):
        self.lib.bl_ir_destroy(self.ir)


class Device:
    def __init__(self, lib, name):
        self.lib, self.context, self.device = lib, ctypes.c_void_p(), ctypes.c_void_p()
        if lib.bl_context_create(None, ctypes.byref(self.context)):
            sys.exit("tracing: no context")
        if lib.bl_device_create(self.context, name.encode(), ctypes.byref(self.device)):
            print("tracing: %s" % lib.bl_context_error(self.context).decode(), file=sys.stderr)
            sys.exit(77)

    def check(self, result):
        assert not result, self.lib.bl_context_error(self.context)

    def array(self, words):
        out, words = ctypes.c_void_p(), np.ascontiguousarray(words)
        self.check(self.lib.bl_ir_array_create(self.device, ctypes.c_uint64(words.size), ctypes.byref(out)))
        self.check(self.lib.bl_ir_array_write(out, ctypes.c_uint64(0), words.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(words.size)))
        return out

    def read(self, array, like):
        words = np.empty_like(like)
        self.check(self.lib.bl_ir_array_read(array, ctypes.c_uint64(0), words.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(words.size)))
        return words

    def destroy_array(self, array):
        self.lib.bl_ir_array_destroy(array)

    def time(self, trace, arrays, invocations, rounds):
        """CPU seconds of compiling, and the least of running."""
        kernel, given = ctypes.c_void_p(), (ctypes.c_void_p * len(arrays))(*(a.value for a in arrays))
        before = time.process_time()
        self.check(self.lib.bl_ir_kernel_create(self.device, trace.ir, ctypes.byref(kernel)))
        compiled, taken = time.process_time() - before, []
        for _ in range(rounds):
            before = time.process_time()
            self.check(self.lib.bl_ir_kernel_run(kernel, given, ctypes.c_uint32(len(arrays)), None, ctypes.c_uint32(0),
                                                 ctypes.c_uint32(invocations)))
            taken.append(time.process_time() - before)
        self.lib.bl_ir_kernel_destroy(kernel)
        return compiled, taken
