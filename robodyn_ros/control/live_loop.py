"""A control loop that a thread runs in C, while Python asks it what it does and changes it.

The thread never waits for Python. Python looks at a copy of its memory, and works out on that copy what a change comes
to. What it hands over is only which numbers are others then. The thread makes the change between two periods, at
once and as a whole, or refuses it, where the reference has become another one meanwhile; then Python tries again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.compiled_loop import KINDS, CompiledLoop, CompiledSettings, PythonLoop
from robodyn_ros.control.faults.supervisor import MOST_BEGINS
from robodyn_ros.engine.c_structs import Record
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot.pose import Array

Result = TypeVar("Result")

TRIES = 20
"""How often a change is worked out anew, at most."""

GUARDS = ("source", "requests", "end", "start", "motion", "next_motion", "has_next", "following", "outcome")
"""Numbers of the references that must still be what they were when a change of the references is made."""

Words = NDArray[np.int64]


class Change(NamedTuple):
    """What is to be changed: the struct ``State`` as words of 8 bytes."""

    places: Words  # which words
    values: Words  # what they become
    guarded: Words  # words that must be what they were
    expected: Words
    settings: CompiledSettings | None  # other settings
    keeps_law_memory: bool


class Runner(Protocol):
    """What runs the loop in C."""

    def copy(self, state: Record, law_memory: Array) -> None:
        """Copy the memory as it is between two periods."""

    def make(self, change: Change) -> bool:
        """Make a change between two periods; False if it is refused.

        Raises:
            NotReadyError: there is no answer.
        """

    def end(self, reason: str) -> None:
        """Run the loop no longer; the loop in Python goes on."""


class LiveLoop:
    """The memory of a loop that a thread runs in C."""

    def __init__(self, loop: PythonLoop, core: CompiledLoop, runner: Runner) -> None:
        """
        Args:
            loop: the loop in Python.
            core: the loop in C, with all of the memory.
            runner: what runs it.
        """
        self._loop, self._core, self._runner = loop, core, runner
        self._settings, self._parameters = loop.settings, loop.dynamics.parameters
        self._compiled = [core.settings]  # what C may still read, the latest last
        self._changing = False
        self._begins = np.zeros((2, len(KINDS), MOST_BEGINS))
        self._copy, self._before, self._after = (core.structs.make("State") for _ in range(3))
        for record, begins in zip((self._copy, self._before, self._after), (0, 1, 1), strict=True):
            record.fields.begins[...] = self._begins[begins].ctypes.data
        places = self._copy.array.dtype.fields
        sources, begin = places["sources"][0], places["sources"][1]
        self._guards = np.array([(begin + sources.fields[name][1]) // 8 for name in GUARDS])
        self._sources = range(begin // 8, (begin + sources.itemsize) // 8)

    def refresh(self) -> None:
        """Have the loop in Python remember what C does now."""
        if self._changing:
            return
        compiled = self._compiled[-1]
        memory = compiled.law_memory.copy()
        self._runner.copy(self._copy, memory)
        self._loop.restore(self._copy.fields, self._core.motion_at)
        compiled.step.restore_law(memory)

    def change(self, act: Callable[[], Result]) -> Result:
        """Do something to the loop in Python, and have C do the same.

        Args:
            act: changes what the loop remembers, or its settings.

        Raises:
            NotReadyError: the thread does not answer.
            Exception: whatever ``act`` raises; nothing has changed then.
        """
        if self._changing:
            return act()
        for _ in range(TRIES):
            self.refresh()
            self._changing = True
            try:
                self._loop.save(self._before.fields, self._core.motion)
                result = act()
                try:
                    change = self._worked_out()
                except NotReadyError as reason:
                    self._runner.end(str(reason))
                    return result
            finally:
                self._changing = False
            if change is None or self._runner.make(change):
                if change is not None and change.settings is not None:
                    self._compiled = [*self._compiled[-2:], change.settings]
                    self._settings, self._parameters = self._loop.settings, self._loop.dynamics.parameters
                return result
        raise NotReadyError("what the arm does changes too quickly: ask again")

    def follow_model(self) -> None:
        """Have C work with the parameters of the model, if they have changed."""
        if self._loop.dynamics.parameters is not self._parameters:
            self.change(lambda: None)

    def judge(self) -> None:
        """Judge the rate of the states, if C asks for that."""
        if self._changing or not self._core.state.fields.to_judge:
            return
        self._runner.copy(self._before, self._compiled[-1].law_memory.copy())
        self._after.array[...] = self._before.array
        self._loop.judge_rate(self._after.fields)
        self._runner.make(self._difference())

    def _worked_out(self) -> Change | None:
        """What has been changed since the copy was taken; None if nothing was.

        Raises:
            NotReadyError: C cannot do it; the message says why.
        """
        loop = self._loop
        settings, keeps = None, False
        if loop.settings is not self._settings or loop.dynamics.parameters is not self._parameters:
            step = loop.compiled_step
            if step is None or not (step.is_current or step.read_settings()):
                raise NotReadyError("the control law cannot be compiled")
            last = self._compiled[-1]
            settings = CompiledSettings(self._core.structs, loop.settings, step, self._core.state.address)
            settings.law_memory[:] = step.law_memory
            keeps = settings.step.program.key == last.step.program.key
        loop.save(self._after.fields, self._core.motion)
        change = self._difference()
        return change._replace(settings=settings, keeps_law_memory=keeps) if len(change.places) or settings else None

    def _difference(self) -> Change:
        """What differs after from before."""
        before, after, copied = map(words, (self._before, self._after, self._copy))
        places = np.flatnonzero(before != after)
        touches = any(place in self._sources for place in places.tolist())
        guarded = self._guards if touches else self._guards[:0]
        return Change(places, after[places], guarded, copied[guarded], None, keeps_law_memory=False)


def words(record: Record) -> Words:
    """A struct as words of 8 bytes."""
    array: Any = record.array
    found: Words = np.ndarray((array.nbytes // 8,), np.int64, array.data)
    return found
