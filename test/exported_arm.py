# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The C of an exported controller, called from Python: compiled as the package's own code is, flag by flag."""

import ctypes
import hashlib
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from once import kept_folder, once

from robodyn_ros.control.core_library import core_structs
from robodyn_ros.engine.c_interface import views_at
from robodyn_ros.engine.library import FLAGS, LINKED, find_compiler

SEND, KEEP, SILENT, BLIND = range(4)
"""What an update asks for, as in arm_loop.h."""


class Choice(ctypes.Structure):
    _fields_ = (("text", ctypes.c_char_p), ("value", ctypes.c_double))


class Parameter(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("kind", ctypes.c_char), ("fixed", ctypes.c_char), ("place", ctypes.c_int),
        ("count", ctypes.c_int), ("least", ctypes.c_double), ("greatest", ctypes.c_double),
        ("choices", ctypes.POINTER(Choice)),
    )  # fmt: skip


class Refusal(ctypes.Structure):
    _fields_ = (
        ("why", ctypes.c_int64),
        ("joint", ctypes.c_int64),
        ("value", ctypes.c_double),
        ("limit", ctypes.c_double),
    )


def at(values: Any) -> ctypes.c_void_p:
    """The address of an array."""
    return ctypes.c_void_p(None if values is None else values.ctypes.data)


def library(texts: Mapping[str, str]) -> Path:
    """The C files of a package as a library, compiled once for all that ask for the same."""
    compiler = find_compiler()
    files = {name: text for name, text in texts.items() if name.startswith("src/") and name.endswith((".c", ".h"))}
    key = hashlib.sha256(repr((compiler.identity, FLAGS, sorted(files.items()))).encode()).hexdigest()

    def make(target: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            included = {"parameters.c"}
            sources = [path for path in sorted(Path(folder, "src").glob("*.c")) if path.name not in included]
            command = [*compiler.command, *FLAGS, "-shared", *map(str, sources), "-o", str(target), *LINKED]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:3000]

    return once(kept_folder("test-objects") / f"{key}.so", make)


class ExportedArm:
    """The loop of an exported controller.

    Attributes:
        n: number of joints.
        code: the library.
        effort: of the latest update, (n,).
    """

    def __init__(self, path: Path, n: int) -> None:
        self.n, self.code = n, ctypes.CDLL(str(path))
        for name in ("arm_create", "arm_core", "arm_settings_create", "arm_core_settings", "core_trajectory_create",
                     "core_returned", "core_state"):  # fmt: skip
            getattr(self.code, name).restype = ctypes.c_void_p
        for name in ("core_track", "core_hold", "core_expected", "arm_follow", "arm_tool"):
            getattr(self.code, name).restype = Refusal
        count = ctypes.c_int()
        self.code.arm_parameters.restype = ctypes.POINTER(Parameter)
        table = self.code.arm_parameters(ctypes.byref(count))
        self.table = {table[k].name.decode(): table[k] for k in range(count.value)}
        width = max(item.place + item.count for item in self.table.values())
        self._given = np.zeros(width)
        self.arm = ctypes.c_void_p(self.code.arm_create())
        self.core = ctypes.c_void_p(self.code.arm_core(self.arm))
        self.report = np.zeros(1000)
        self.effort = np.zeros(n)
        self._settings = ctypes.c_void_p()

    def prepare(self, values: Mapping[str, Any], period: float = 0.0) -> tuple[ctypes.c_void_p, str]:
        """Settings of the values of all parameters, and what is wrong with them; "" if nothing is."""
        for name, item in self.table.items():
            value = values[name]
            if item.kind == b"s":
                choices = {}
                for choice in item.choices:
                    if choice.text is None:
                        break
                    choices[choice.text.decode()] = choice.value
                value = choices[value]
            if item.kind != b"l":
                self._given[item.place : item.place + item.count] = value
        settings = ctypes.c_void_p(self.code.arm_settings_create())
        text = ctypes.create_string_buffer(400)
        good = self.code.arm_settings_prepare(settings, at(self._given), ctypes.c_double(period), text, 400)
        assert bool(good) == (not text.value)
        return settings, text.value.decode()

    def apply(self, settings: ctypes.c_void_p) -> None:
        """Work with other settings."""
        before, self._settings = self._settings, settings
        self.code.arm_apply(self.arm, settings)
        if before:
            self.code.arm_settings_destroy(before)

    def settings_in_core(self, settings: ctypes.c_void_p) -> Any:
        """The members of the core's settings, as views."""
        structs = core_structs(self.n)
        return views_at(structs.type_of("Settings"), self.code.arm_core_settings(settings))

    def update(self, t: float, q: np.ndarray, qd: np.ndarray | None) -> int:
        """A period; what it asks for."""
        done = self.code.arm_update(self.arm, ctypes.c_double(t), at(q), at(qd), at(self.report))
        self.effort = self._efforts()
        return int(done)

    def _efforts(self) -> np.ndarray:
        # ArmReport: code, refusal (4), fault and latched, problem and joint, value, bound, faults; then the efforts
        return self.report[10 : 10 + self.n].copy()

    def track(self, t: float, joints: np.ndarray, rows: np.ndarray) -> bool:
        """A streamed reference (4, n); whether it is taken."""
        return self.code.core_track(self.core, ctypes.c_double(t), at(joints), *map(at, rows)).why == 0

    def hold(self, t: float) -> bool:
        """Come to rest; whether that can be."""
        return self.code.core_hold(self.core, ctypes.c_double(t)).why == 0

    def follow(
        self, times: np.ndarray, rows: list[np.ndarray | None], start: float, now: float
    ) -> tuple[bool, Refusal]:
        """A trajectory of all joints; whether it is taken, and why not."""
        refusal, joints = Refusal(), np.arange(self.n)
        made = self.code.core_trajectory_create(
            ctypes.c_void_p(self.code.arm_core_settings(self._settings)), ctypes.c_int64(len(times)),
            ctypes.c_int64(self.n), at(joints), at(times), *map(at, rows), ctypes.c_double(start), ctypes.c_double(now),
            ctypes.byref(refusal),
        )  # fmt: skip
        if made:
            refusal = self.code.arm_follow(self.arm, ctypes.c_void_p(made))
        while back := self.code.core_returned(self.core):
            self.code.core_trajectory_destroy(ctypes.c_void_p(back))
        return refusal.why == 0, refusal

    def stream_pose(self, t: float, pose: np.ndarray, frame: int = -1) -> bool:
        """A pose (4, 4) that the tool is to have, in a link's frame or the root's; whether it is taken."""
        numbers = np.concatenate((pose[:3, 3], pose[:3, :3].ravel()))
        times = ctypes.c_double(t), ctypes.c_double(np.nan)
        return self.code.arm_tool(self.arm, 0, frame, *times, at(numbers)).why == 0

    def expected(self, t: float) -> np.ndarray:
        """The reference (4, n) at a time."""
        found = np.zeros((4, self.n))
        assert self.code.core_expected(self.core, ctypes.c_double(t), at(found)).why == 0
        return found

    def words(self, refusal: Refusal, size: int = 400) -> str:
        """A refusal in words, in a number of bytes."""
        text = ctypes.create_string_buffer(b"~" * size, size)
        self.code.arm_refusal_text(ctypes.byref(refusal), text, ctypes.c_size_t(size))
        return text.value.decode()

    def fault_words(self) -> str:
        """The fault of the latest update in words."""
        text = ctypes.create_string_buffer(400)
        self.code.arm_fault_text(at(self.report), text, ctypes.c_size_t(400))
        return text.value.decode()

    def does_not_hold(self, settings: ctypes.c_void_p, now: ctypes.c_void_p | None, q: np.ndarray | None) -> str:
        """Why the limits of settings do not hold the arm at q (n,), if it is known; "" if they do."""
        text = ctypes.create_string_buffer(400)
        held = self.code.arm_settings_hold(settings, now, at(q), text, ctypes.c_size_t(400))
        assert bool(held) == (not text.value)
        return text.value.decode()

    def memory(self) -> Any:
        """The members of the core's memory, as views."""
        return views_at(core_structs(self.n).type_of("State"), self.code.core_state(self.core))

    def wrench(self) -> np.ndarray:
        """The external wrench at the observed link, in its axes: force and torque, (6,)."""
        found = np.zeros(6)
        self.code.arm_wrench(self.arm, at(found))
        return found

    def in_root(self, what: int, pose: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """A pose, a twist or a wrench of the tool, given in a frame at a pose (4, 4), in the root's frame."""
        given = np.array(numbers)
        self.code.arm_to_root(what, at(np.ascontiguousarray(pose)), at(given))
        return given

    def __del__(self) -> None:
        self.code.arm_destroy(self.arm)
