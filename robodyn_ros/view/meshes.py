"""Mesh files of a URDF, found and read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

from robodyn_ros.errors import RobotDescriptionError

Packages = Callable[[str], str | None]
"""Name of a package → its share folder, or None."""


def ros_package_path(package: str) -> str | None:
    """The folder of a package below one that the variable ``ROS_PACKAGE_PATH`` names."""
    for folder in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
        for path in (Path(folder) / package, Path(folder) if Path(folder).name == package else None):
            if path is not None and path.is_dir():
                return str(path)
    return None


def mesh_path(resource: str, packages: Packages = ros_package_path) -> Path:
    """Where a mesh lies.

    Args:
        resource: ``package://name/path``, ``file:///path``, or a path.
        packages: finds packages.

    Raises:
        RobotDescriptionError: the package is not found, or the file is not there.
    """
    parts = urlparse(resource)
    if parts.scheme == "package":
        share = packages(parts.netloc)
        if share is None:
            problem = f"package {parts.netloc!r} is not found; add the folder that it lies in to ROS_PACKAGE_PATH"
            raise RobotDescriptionError(f"mesh {resource!r}", problem)
        path = Path(share) / unquote(parts.path).lstrip("/")
    else:
        path = Path(unquote(parts.path)) if parts.scheme == "file" else Path(resource)
    if not path.is_file():
        raise RobotDescriptionError(f"mesh {resource!r}", f"there is no file {str(path)!r}")
    return path
