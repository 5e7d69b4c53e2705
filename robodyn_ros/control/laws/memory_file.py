"""The file with what control laws have learnt: YAML, with the name of the arm and the memory of each law by class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from robodyn_ros.control.laws.base import Controller
from robodyn_ros.errors import InputError
from robodyn_ros.yaml_files import YamlError, read_yaml


def save_memory(path: str | os.PathLike[str], law: Controller) -> None:
    """Write the memory of a law, all of it or nothing; the memory of other laws stays in the file.

    Args:
        path: of the file; a ``~`` stands for the home folder.
        law: that has learnt.

    Raises:
        InputError: the law learns nothing, the file cannot be written, or the existing file is something else.
    """
    file, name, memory = Path(path).expanduser(), law.dynamics.robot.name, law.memory()
    if not memory:
        raise InputError("law", f"{type(law).__name__} learns nothing that could be saved", law)
    whole: dict[str, Any] = _read(file, name) if file.exists() else {"robot": name}
    whole[type(law).__name__] = memory
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        beside.write_text(yaml.safe_dump(whole, sort_keys=False, default_flow_style=None), encoding="utf-8")
        beside.replace(file)
    except OSError as cause:
        raise InputError("path", f"{file} cannot be written: {cause.strerror}", path) from cause


def restore_memory(path: str | os.PathLike[str], law: Controller) -> bool:
    """Give a law its memory from a file; True if the file has one. A missing file has none.

    Raises:
        InputError: the file cannot be read, is something else, or is of another arm; the law is unchanged then.
    """
    file = Path(path).expanduser()
    if not law.memory() or not file.exists():
        return False
    memory = _read(file, law.dynamics.robot.name).get(type(law).__name__)
    if memory is None:
        return False
    if not isinstance(memory, dict):
        raise InputError("path", f"{file} has {memory!r} of {type(law).__name__}", path)
    law.restore(memory)
    return True


def _read(file: Path, robot: str) -> dict[str, Any]:
    try:
        found = read_yaml(file)
    except YamlError as cause:
        raise InputError("path", f"{file} cannot be read: {cause}", str(file)) from cause
    if not isinstance(found, dict) or "robot" not in found:
        raise InputError("path", f"{file} is not what control laws have learnt: it names no robot", str(file))
    if found["robot"] != robot:
        raise InputError("path", f"{file} is of {found['robot']!r}, not of the arm {robot!r}", str(file))
    return found
