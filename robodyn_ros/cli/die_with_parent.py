"""Become another program that ends when the process that started it ends, even if that one is killed.

    python -I -S die_with_parent.py <process id of the starter> <program> <argument> ...

The kernel sends this process SIGKILL when its parent ends (prctl(2), PR_SET_PDEATHSIG), and the setting survives
execve(2). :mod:`robodyn_ros.cli.processes` runs this file by its path, without the package and without site packages,
so that it starts in milliseconds; that is why it is a file of its own. On systems other than Linux it only becomes the
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
    """Set the signal, then execute the program."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended before the call
            sys.exit(1)
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
