"""Becomes another program that cannot outlive the process that started it, not even if that is killed without warning.

    python -I -S bound.py <process id of the starter> <program> <argument> ...

The kernel is asked to kill this process when its parent ends (prctl(2), PR_SET_PDEATHSIG), and keeps to that through
execve(2). It runs by itself, not as a module, so that it takes no time. Linux only; elsewhere it just becomes the
program.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>."""


def main() -> None:
    """See the module."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the kernel was asked
            sys.exit(1)
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
