"""A path or an XML string → text."""

from __future__ import annotations

import os
from pathlib import Path

from robodyn_ros.errors import InputError, RobotDescriptionError

_BLANK = "\ufeff \t\r\n"  # the byte order mark that some editors write, and white space


def read_source(source: str | os.PathLike[str]) -> tuple[str, str]:
    """What to call the source in a message, and its text: a string that starts with ``<`` is the text itself.

    Raises:
        RobotDescriptionError: there is no such file, it is not text, or there is nothing in it.
        InputError: it is neither a path nor a string.
    """
    if isinstance(source, str) and source.lstrip(_BLANK).startswith("<"):
        return "robot description", _clean(source)
    if not isinstance(source, (str, os.PathLike)) or not isinstance(os.fspath(source), str):
        raise InputError("source", f"must be a path or an XML string, not {type(source).__name__}", source)
    label = os.fspath(source)
    if not label.strip(_BLANK):
        raise RobotDescriptionError("robot description", "is empty")
    try:
        text = _clean(Path(label).read_bytes().decode("utf-8"))
    except UnicodeDecodeError as cause:
        raise RobotDescriptionError(label, f"is not UTF-8 text: {cause.reason} at byte {cause.start}") from cause
    except OSError as cause:
        raise RobotDescriptionError(label, f"cannot be read: {cause.strerror}") from cause
    except ValueError as cause:  # a null character in the path
        raise RobotDescriptionError(repr(label), f"is not a path: {cause}") from cause
    if not text.strip():
        raise RobotDescriptionError(label, "is empty")
    return label, text


def _clean(text: str) -> str:
    """Without what XML forbids ahead of its declaration; blank lines stay where they do no harm, for line numbers."""
    text = text.removeprefix("\ufeff")
    bare = text.lstrip(_BLANK)
    return bare if bare.startswith("<?xml") else text
