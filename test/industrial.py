# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The robots of the PyPI package ``example-robot-data``, where it is installed: UR, Panda and others."""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


@cache
def _installed() -> dict[str, Path]:
    # A cmeel wheel: its files are under a prefix of their own beside the packages, and nothing can be imported.
    share = distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
    return {path.stem: path for path in sorted(Path(str(share)).rglob("*.urdf"))}


def urdfs() -> dict[str, Path]:
    """File name without its ending → path of every URDF; empty where the package is not installed."""
    try:
        return _installed()
    except PackageNotFoundError:
        return {}


def urdf(name: str) -> str:
    """The text of a URDF.

    Raises:
        PackageNotFoundError: the package is not installed; a test is then skipped (``without_extras.py``).
    """
    return _installed()[name].read_text(encoding="utf-8")


def panda() -> str:
    """The URDF of the Panda with its fingers welded, as it is in the literature."""
    text = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', urdf("panda"))
    return re.sub(r"<mimic[^>]*>", "", text)
