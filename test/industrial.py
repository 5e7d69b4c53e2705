# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robots of the PyPI package ``example-robot-data``, where it is installed: UR, Panda and others."""

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


@cache
def urdfs() -> dict[str, Path]:
    """File name without its ending → path of every URDF; empty where the package is not installed."""
    try:
        # A cmeel wheel: its files are under a prefix of their own beside the packages, and nothing can be imported.
        share = distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
    except PackageNotFoundError:
        return {}
    return {path.stem: path for path in sorted(Path(str(share)).rglob("*.urdf"))}
