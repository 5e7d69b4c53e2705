# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is dear to make and the same for many tests: made once for all workers of a run, or kept for the next run."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from forked_workers import WORKER

from robodyn_ros.engine.library import cache_folder

WEEK = 7 * 24 * 3600.0


def run_folder(basetemp: Path) -> Path:
    """The folder of temporary files that all workers of a run share.

    Args:
        basetemp: the worker's own, ``tmp_path_factory.getbasetemp()``.
    """
    return basetemp.parent if WORKER in os.environ else basetemp


def kept_folder(name: str) -> Path:
    """A folder beside the compiled arms that stays; what nobody has asked for in a week goes."""
    folder = cache_folder() / name
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        if file.stat().st_mtime < time.time() - WEEK:
            file.unlink(missing_ok=True)
    return folder


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
        os.utime(file)
    return file
