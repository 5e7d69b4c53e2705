# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The file with the memory of control laws that learn: YAML, with the arm's name and a law's memory by its class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from robodyn_ros.control.laws.base import Controller
from robodyn_ros.errors import InputError
from robodyn_ros.files import read_yaml_of


class LawMemory(NamedTuple):
    """A copy of a law's memory: the loop may continue while it is written."""

    robot: str  # name of the arm
    law: str  # name of the class
    values: dict[str, Any]


def memory_of(law: Controller) -> LawMemory:
    """A copy of a law's present memory; InputError: the law learns nothing."""
    if not (memory := law.memory()):
        raise InputError("law", f"{type(law).__name__} learns nothing that could be saved", law)
    return LawMemory(law.dynamics.robot.name, type(law).__name__, dict(memory))


def save_memory(path: str | os.PathLike[str], law: Controller) -> None:
    """Write a law's memory, as :func:`write_memory` does; InputError: also if the law learns nothing."""
    write_memory(path, memory_of(law))


def restore_memory(path: str | os.PathLike[str], law: Controller) -> bool:
    """Give a law its memory from a file; True if the file has one. A missing file has none. InputError: the file cannot
    be read, is no such file, or is of another arm, or it is missing and has no folder; the law is unchanged then.
    """
    found = read_memory(path, law.dynamics.robot.name, type(law).__name__) if law.memory() else None
    if found is not None:
        law.restore(found.values)
    return found is not None


def write_memory(path: str | os.PathLike[str], memory: LawMemory) -> None:
    """Write the memory of a law, all or nothing, to a path in which ``~`` stands for the home folder; the memory of
    other laws stays in the file. InputError: the file cannot be written, or an existing file is no such file.
    """
    file = _file(path)
    whole: dict[str, Any] = _read(file, memory.robot) if file.exists() else {"robot": memory.robot}
    whole[memory.law] = memory.values
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        beside.write_text(yaml.safe_dump(whole, sort_keys=False, default_flow_style=None), encoding="utf-8")
        beside.replace(file)
    except OSError as cause:
        raise InputError("path", f"{file} cannot be written: {cause.strerror}", path) from cause


def read_memory(path: str | os.PathLike[str], robot: str, law: str) -> LawMemory | None:
    """The memory of a law, by the name of its class, from a file; None if the file has none, or is missing. InputError:
    the file cannot be read, is no such file, or is of another arm; or it is missing, and has no folder in which it
    could be written.
    """
    if not (file := _file(path)).parent.is_dir():
        raise InputError("path", f"{file} can be neither read nor written: there is no folder {file.parent}", path)
    memory = _read(file, robot).get(law) if file.exists() else None
    if memory is None:
        return None
    if not isinstance(memory, dict):
        raise InputError("path", f"{file}: the memory of {law} must be a mapping, not {memory!r}", path)
    return LawMemory(robot, law, memory)


def _file(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as cause:  # ~name
        raise InputError("path", f"{path} begins with the home folder of nobody known", path) from cause


def _read(file: Path, robot: str) -> dict[str, Any]:
    found = read_yaml_of("path", file)
    if not isinstance(found, dict) or "robot" not in found:
        raise InputError("path", f"{file} is no memory of control laws: it has no key 'robot'", str(file))
    if found["robot"] != robot:
        raise InputError("path", f"{file} is of {found['robot']!r}, not of the arm {robot!r}", str(file))
    return found
