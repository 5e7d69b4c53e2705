# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The memory that C code in this process holds."""

import ctypes
import gc


class _Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (*"abcdefg", "given", *"hi")]  # struct mallinfo2 of glibc


def heap_size() -> int:
    """What the allocator of C has given out, and not got back [bytes]."""
    gc.collect()
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Info
    return int(mallinfo2().given)
