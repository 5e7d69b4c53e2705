"""One compiled loop over many states, shared out among threads."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from robodyn_ros.robot.pose import Array

LEAST = 4096
"""A thread is worth its start from about this many states."""


def in_parts(loop: Any, inputs: list[Array], parameters: Array, outputs: list[Array], threads: int) -> bool:
    """Run the loop on all states; ctypes lets go of the interpreter meanwhile, so threads run side by side.

    Returns:
        Whether an input was not finite.
    """
    count = len(inputs[0])
    parts = max(1, min(threads, count // LEAST))
    bounds = [count * part // parts for part in range(parts + 1)]

    def run(begin: int, end: int) -> int:
        arg = (ctypes.c_void_p * (len(inputs) + 1))(
            *(array[begin:end].ctypes.data for array in inputs), parameters.ctypes.data
        )
        res = (ctypes.c_void_p * len(outputs))(*(array[begin:end].ctypes.data for array in outputs))
        return int(loop(ctypes.c_longlong(end - begin), arg, res))

    if parts == 1:
        return bool(run(0, count))
    return any([*_pool(threads).map(run, bounds[:-1], bounds[1:])])


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="robodyn")
