"""The files that a verb writes: whether they can be is found out before its work, not after a minute."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from robodyn_ros.errors import ConfigurationError, InputError


def check_picture(option: str, path: Path) -> None:
    """Find out now that a picture cannot be drawn there.

    Raises:
        InputError: its ending is of no picture, or its folder is not there or not to be written to.
        ConfigurationError: Matplotlib is not installed.
    """
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(option, f"must end in .png, .svg or .pdf, not {path.suffix!r}", path)
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise InputError(option, f"{str(path)!r} cannot be written", path)
    if find_spec("matplotlib") is None:
        raise ConfigurationError("the picture needs matplotlib: pip install 'robodyn_ros[plot]'")


def check_folder(option: str, path: Path) -> None:
    """Find out now that the folder of a file is not there.

    Raises:
        InputError: it is not.
    """
    if not path.resolve().parent.is_dir():
        raise InputError(option, f"there is no folder {str(path.parent)!r}", path)


def write_file(option: str, path: Path, content: str | bytes) -> None:
    """Write a file; one that is there is replaced.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as cause:
        raise InputError(option, f"{str(path)!r} cannot be written: {cause.strerror}", path) from cause
