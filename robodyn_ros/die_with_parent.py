# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Become another program that ends when the process that started it ends, even if that one is killed.

    python -I -S die_with_parent.py <process id of the starter> <number of a signal> <program> <argument> ...

The kernel sends this process the signal when its parent ends (prctl(2), PR_SET_PDEATHSIG), and the setting survives
execve(2). The parent is the thread that started it. :func:`dying_with_parent` runs this file by its path, without the
package and without site packages, so that it starts in milliseconds; that is why it is a file of its own. On systems
other than Linux it only becomes the program.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>."""


def dying_with_parent(program: Sequence[str], number: signal.Signals = signal.SIGKILL) -> list[str]:
    """Return the command line of a program that gets a signal when this process ends.

    Args:
        program: its path and arguments.
        number: the signal; one that the program handles lets it end in order.
    """
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(number)), *program]


def end_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent ends; if that has ended already, end now.

    Args:
        parent: process id of the parent.
        number: the signal.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:  # the parent ended before the call
            os._exit(1)


def main() -> None:
    """Set the signal, then execute the program."""
    parent, number, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    end_with_parent(parent, signal.Signals(number))
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
