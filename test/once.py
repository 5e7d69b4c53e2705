"""What is dear to make and the same for many tests: made once in a run of pytest, for all its workers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from forked_workers import WORKER


def run_folder(basetemp: Path) -> Path:
    """The folder of temporary files that all workers of a run share.

    Args:
        basetemp: the worker's own, ``tmp_path_factory.getbasetemp()``.
    """
    return basetemp.parent if WORKER in os.environ else basetemp


def once(file: Path, make: Callable[[Path], object]) -> Path:
    """A file that the first who asks for it makes; others that ask meanwhile wait for it.

    Args:
        file: its place; its folder is there.
        make: writes it, under the name that it is given. If that fails, the next who asks tries.
    """
    with open(file.with_name(f"{file.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            half = file.with_name(f"half-{file.name}")
            make(half)
            half.replace(file)
    return file
