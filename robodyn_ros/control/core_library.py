# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The core in C (``core/``), compiled once for a number of joints, and its memory as arrays: the C files declare
the structs, and :mod:`robodyn_ros.engine.c_interface` reads them.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.control.faults.table import fault_header
from robodyn_ros.engine.c_interface import CStructs, Record, memory_at, numbers_at, required, text_key, views_at
from robodyn_ros.engine.kernel import bound_function
from robodyn_ros.engine.library import start_library
from robodyn_ros.robot.pose import Array

CORE = Path(__file__).with_name("core")  #: Folder of the core's C files.
HEADERS = ("core.h", "kinds.h", "memory.h")  #: Headers with structs and constants, each after those that it needs.

PYTHON = """
extern void* PyCapsule_GetPointer(void*, const char*);
extern void* PyLong_FromLong(long);

/* core_update as a function of CPython without arguments, on the core's period; 0: there is an effort of the law. */
void* core_python(void* capsule, void* none) {
  Core* c = *(Core**)PyCapsule_GetPointer(capsule, 0);
  Period* p = &c->period;
  const int code = core_update(c, p->t, p->now, p->q, p->has_velocity ? p->qd : 0);
  (void)none;
  return PyLong_FromLong(code == CORE_SEND && p->kind >= 0 ? REACTION : code);
}
"""

SHARED = '#define CORE_SHARED __attribute__((visibility("hidden")))\n'  #: What pages of the core share is hidden.
REACTION = -1  #: Code of an update whose effort is the reaction to a fault.


@lru_cache(maxsize=1)
def core_files() -> Mapping[str, str]:
    """The core's C files by name; ``kinds.h`` is written from the table of faults."""
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted(CORE.glob("*.[ch]"))}
    return files | {"kinds.h": fault_header()}


@lru_cache(maxsize=2)
def core_text(first: str = "core.c") -> str:
    """The core as one text: ``core.c``, or another file of it, with its includes, each once."""
    seen: set[str] = set()

    def included(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        return re.sub(r'#include "(\w+\.[ch])"', lambda found: included(found[1]), core_files()[name])

    return SHARED + included(first)


def _head(n: int) -> str:
    return f"#define _GNU_SOURCE\n#define CORE_JOINTS {n}\n#define REACTION {REACTION}\n"


@lru_cache(maxsize=8)
def core_source(n: int, around: Path | None = None) -> str:
    """The core in C for n joints, in pages that are compiled side by side, and the code ``around`` that calls it."""
    text = f"{_head(n)}{core_text()}{PYTHON}"
    return text if around is None else f"{text}\n{around.read_text(encoding='utf-8')}"


def caller_library(n: int, caller: Path) -> Any:
    """The library of C code that has the core's memory for n joints, and calls its functions by address."""
    return _compiled(caller.stem, _caller_source(n, caller))


def _compiled(name: str, source: str) -> Any:
    return required("the control loop", name, text_key(source), lambda: source)


@lru_cache(maxsize=8)
def _caller_source(n: int, caller: Path) -> str:
    return f"{_head(n)}{core_text('memory.h')}\n{caller.read_text(encoding='utf-8')}"


def core_library(n: int, around: Path | None = None) -> Any:
    """The library of the core for n joints, with C code ``around`` that calls it if given; loaded once in a process.
    NotReadyError: there is no C compiler, or it fails; the message says how to get one, or why.
    """
    found = _compiled("core" if around is None else around.stem, core_source(n, around))
    for name in ("core_create", "core_state", "core_period", "core_trajectory_create"):
        getattr(found, name).restype = ctypes.c_void_p
    found.core_watch_due.restype = ctypes.c_double
    return found


def start_core(n: int, caller: Path | None = None) -> None:
    """Begin to compile the core of n joints, and code that calls it, in the background (:func:`.start_library`)."""
    sources = {"core": core_source(n)} | ({caller.stem: _caller_source(n, caller)} if caller else {})
    for name, source in sources.items():
        start_library(name, text_key(source), partial(str, source))


@lru_cache(maxsize=8)
def core_structs(n: int, around: Path | None = None) -> CStructs:
    """The structs and constants of the core for n joints, and of C code ``around`` it."""
    texts = [core_files()[name] for name in HEADERS]
    texts += [] if around is None else [around.read_text(encoding="utf-8")]
    return CStructs("".join(texts), {"N": n, "CORE_JOINTS": n})


CODES: Mapping[str, int] = core_structs(1).constants  #: Those that do not depend on the number of joints.

NUMBERS = {name: float(value) for name, value in re.findall(r"#define (\w+) (-?[\de.-]+) ", core_files()["memory.h"])}
"""Numbers that ``core/memory.h`` defines."""


class Core:
    """A core: its memory, and the calls.

    Attributes:
        address: of its memory.
        state, period: members of the structs ``State`` and ``Period``, as views.
        kept: settings that the core may still read, the latest last.
        run: updates the period, and returns a code of ``core_update``, or :data:`REACTION`.
    """

    def __init__(self, n: int) -> None:
        """For n joints; errors as of :func:`core_library`."""
        self.n, self.library, self.structs = n, core_library(n), core_structs(n)
        self.address = int(self.library.core_create() or 0)
        if not self.address:
            raise MemoryError("there is no memory for the control loop")
        self._pointer = ctypes.c_void_p(self.address)
        self.state = views_at(self.structs.type_of("State"), self.library.core_state(self._pointer))
        period = self.structs.type_of("Period")
        place = self.library.core_period(self._pointer)
        self.period = views_at(period, place)
        self.numbers = numbers_at(period, place, "q", "rows").reshape(-1, n)
        self.times = numbers_at(period, place, "t", "age")
        self._itself: Any = np.ndarray((1,), np.int64, memory_at(self.address, 8))
        self.run = bound_function(self.library, "core_python", [self._itself])
        self.kept: list[Any] = []

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            self.library.core_destroy(self._pointer)

    def request(self, request: Record) -> None:
        """Carry out a request at once."""
        self.library.core_request(self._pointer, ctypes.c_void_p(request.address))

    def call(self, name: str, *times: float) -> Any:
        """The result of ``core_watch``, ``core_repeat`` or ``core_watch_due`` for times [s]."""
        return getattr(self.library, name)(self._pointer, *map(ctypes.c_double, times))

    def mit(self, t: float, q: Array, effort: Array, greatest: Array) -> Array:
        """``core_mit``: position, velocity, stiffness, damping and feed-forward effort, (5, n)."""
        found = np.zeros((5, self.n))
        places = (ctypes.c_void_p(array.ctypes.data) for array in (q, effort, greatest, *found))
        self.library.core_mit(self._pointer, ctypes.c_double(t), *places)
        return found
