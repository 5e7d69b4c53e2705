# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Signals that take effect at the end of what must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def signals_deferred() -> Iterator[list[int]]:
    """Have SIGINT, SIGTERM and SIGHUP take effect at the end of the block; yields those that have come.

    What such a signal interrupts, such as the start of a process, is then either done and known, or not begun. Python
    loses an exception that a handler raises as C calls a function, and IPOPT takes it for a wish to stop: what calls
    such code looks at what has come.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread only
        yield came
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)
