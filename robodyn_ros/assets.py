# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The files that come with the package: URDFs, configurations, launch files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from robodyn_ros.errors import InputError

PACKAGE = "robodyn_ros"


def find(name: str) -> Path:
    """The path of a file that comes with the package.

    Args:
        name: relative to the package's share folder, for example ``urdf/prr.urdf``.

    Raises:
        InputError: no folder holds it; the message lists the folders.
    """
    places = folders()
    for place in places:
        if (place / name).is_file():
            return place / name
    raise InputError("file", f"{name} is not in {' or '.join(map(str, places))}", name)


def folders() -> list[Path]:
    """Folders that may hold the package's files: a checkout, the ament prefixes, Python's own prefix."""
    checkout = Path(__file__).parent.parent
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    shares = [Path(prefix, "share", PACKAGE) for prefix in prefixes if prefix]
    return [checkout, *shares] if (checkout / "package.xml").is_file() else shares
