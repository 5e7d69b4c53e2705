# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a node and prints the names of the threads that its process has when the node has ended.

``python threads_at_end.py MODULE ARGUMENTS``. Fast DDS names its threads ``dds.*``; each participant has some of its
own, and ``dds.shm.wdog`` is that of the process.
"""

import runpy
import sys
from contextlib import suppress
from pathlib import Path

HEADING = "threads: "
OF_THE_PROCESS = "dds.shm.wdog"


def thread_names(process: object = "self") -> list[str]:
    """The names of the threads of a process, by its number."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # of a thread that has ended meanwhile
            found.append((task / "comm").read_text().strip())
    return found


if __name__ == "__main__":
    module, *rest = sys.argv[1:]
    sys.argv = [module, *rest]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        print(HEADING + " ".join(thread_names()), flush=True)
