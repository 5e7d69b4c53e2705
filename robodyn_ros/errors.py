# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The errors of this package: one base class, and children that carry the wrong value and what would be right.

Every message that refuses a name ends with :func:`is_it`, the name that a mistyped one was meant to be. Names are
compared by ``difflib``, whole and word by word. The beginning of a word stands for the word: ``blend`` is
``blend_time``. :func:`signals_deferred` has the exceptions that signals raise wait.
"""

from __future__ import annotations

import copyreg
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple


def pip_install(what: str) -> str:
    """The command that installs a package for the Python that runs: the ``pip`` of a shell may be another one's."""
    python = Path(sys.executable)
    shown = os.path.relpath(python) if python.is_relative_to(Path.cwd()) else str(python)
    return f"{quote(shown)} -m pip install {quote(what)}"


class Place(NamedTuple):
    """A line of a file, or the file alone."""

    file: str  # as the user wrote it
    line: int | None  # from 1; None if another program made the text of the file

    def __str__(self) -> str:
        """As compilers and editors write it."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


class RobodynError(ValueError):
    """Base of every error this package raises on purpose.

    Attributes:
        place: file and line of what is wrong, or None if it is not in a file.
    """

    place: Place | None = None

    @property
    def located(self) -> str:
        """The message with file and line in front, if they are known: ``arm.urdf:12: joint 'shoulder': …``."""
        return str(self) if self.place is None else f"{self.place}: {self}"

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle or a copy is made of the message and the attributes, without the arguments of the original."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class RobotDescriptionError(RobodynError):
    """A URDF that does not describe a robot.

    Attributes:
        element: what is wrong, named as in the file, for example ``joint 'shoulder'``; the file's path if it is no
            element of it.
        problem: the message without it.
    """

    def __init__(self, element: str, problem: str, place: Place | None = None) -> None:
        super().__init__(f"{element}: {problem}")
        self.element = element
        self.problem = problem
        self.place = place

    @property
    def located(self) -> str:
        """The message with file and line in front, if they are known and the message does not name the file itself."""
        return str(self) if self.place is None or self.element == self.place.file else super().located


class LoadWarning(UserWarning):
    """A motion that an arm will not follow, because its joints are too weak; the message names the joint."""


class RobotDescriptionWarning(UserWarning):
    """Something in a URDF that was loaded nevertheless; the message names the element and what was done."""


class InputError(RobodynError):
    """An argument of the wrong shape or type, not finite, or out of range.

    Attributes:
        name: the argument's name.
        problem: the message without it.
        value: the wrong value.
    """

    def __init__(self, name: str, problem: str, value: object = None) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name
        self.problem = problem
        self.value = value


def check_type(name: str, value: object, kind: type[Any] | tuple[type[Any], ...], expected: str) -> None:
    """Check the type of an argument, which a caller without a type checker may have wrong.

    Args:
        name: the argument's name.
        value: the argument.
        kind: the type that it must have, or several.
        expected: description of that, for the message.

    Raises:
        InputError: it has another.
    """
    if not isinstance(value, kind):
        raise InputError(name, f"must be {expected}, not {type(value).__name__}", value)


class PluginError(RobodynError):
    """An unknown, duplicate or broken plugin.

    Attributes:
        kind: the plugin kind, for example ``dynamics``.
        name: the plugin's name.
        available: the names that exist.
    """

    def __init__(self, kind: str, name: str, problem: str, available: Iterable[str] = ()) -> None:
        self.kind = kind
        self.name = name
        self.available = tuple(available)
        choices = ", ".join(self.available) or "none"
        hint = "" if name in self.available else is_it(name or kind, self.available)
        what = f"{kind} plugin {name!r}" if name else repr(kind)
        super().__init__(f"{what}: {problem} (available: {choices}){hint}")


class ConfigurationError(RobodynError):
    """A setting that contradicts the arm or another setting; the message names it."""


def need(module: str, sentence: str, package: str) -> Any:
    """Import an optional module.

    Args:
        module: its name.
        sentence: which names the user of the module, for the message.
        package: its name for pip.

    Raises:
        ConfigurationError: it cannot be imported; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as cause:
        raise ConfigurationError(f"{sentence}: {pip_install(package)}") from cause


def need_ros() -> None:
    """Check that ROS 2 is installed.

    Raises:
        ConfigurationError: it is not; the message says how to install it.
    """
    if find_spec("rclpy") is None:
        remedy = f"source an installation, or {pip_install('robodyn_ros[ros]')}"
        raise ConfigurationError(f"there is no ROS 2 here: {remedy}")


class HoldingError(ConfigurationError):
    """Limits that do not let the drives hold the arm; the message has what that takes."""


class LimitError(InputError):
    """A position, or another quantity of a joint, outside its limits.

    Attributes:
        joint: the joint's name.
        lower: its least position [rad] or [m], or the least of the quantity.
        upper: its greatest position [rad] or [m], or likewise.
        quantity: ``position``, ``speed``, ``acceleration`` or ``effort``.
    """

    def __init__(
        self, name: str, joint: str, value: float, lower: float, upper: float, unit: str = "", of: str = "position"
    ) -> None:
        allowed = f"[{lower:.6g}, {upper:.6g}] {unit}".rstrip()
        super().__init__(name, f"joint {joint!r} at {value:.6g} is outside its limits {allowed}", value)
        self.joint = joint
        self.lower = lower
        self.upper = upper
        self.quantity = of


HOUR = 3600.0
"""Age beyond which a state's time comes from another clock rather than from a delay [s]."""


class StaleStateError(InputError):
    """A state that is too old, or (:class:`FutureStateError`) too far in the future, to compute a command from.

    Attributes:
        age: age of the state [s].
        timeout: greatest age allowed [s].
    """

    def __init__(self, age: float, timeout: float) -> None:
        text = f"is {age:.3g} s old" if not age < 0.0 else f"is from the future, {-age:.3g} s ahead of the clock"
        text += f"; a command needs one within {timeout:.3g} s"
        if abs(age) > HOUR:
            text += ": it has the time of another clock (simulated time? use_sim_time says which a node goes by)"
        super().__init__("state", text, age)
        self.age = age
        self.timeout = timeout


class FutureStateError(StaleStateError):
    """A state that is too far in the future."""


class OrderError(InputError):
    """A state whose stamp does not follow from the one before it; the message says by how much."""

    def __init__(self, problem: str) -> None:
        super().__init__("state", problem)


class JumpError(InputError):
    """A state that contradicts those before it.

    Attributes:
        joint: the joint's name.
    """

    def __init__(self, joint: str, problem: str, value: float) -> None:
        super().__init__("state", problem, value)
        self.joint = joint


class NotReadyError(RobodynError):
    """A call that comes too early; the message names what is missing."""


class ModelError(RobodynError):
    """A dynamics plugin whose results contradict each other or are not finite; the message names the method."""


class EffortError(RobodynError):
    """A control law whose efforts are not finite; the message carries them."""


class SimulationError(RobodynError):
    """A simulation step whose result is not finite; the plant keeps the state before it."""


NEAR, CERTAIN = 0.75, 0.85
"""Least ratio of ``difflib`` between a mistyped word and the word that was meant, and between whole names [-]."""

SHORTEST, LONG = 3, 5
"""Letters that the beginning of a word must have, and that a mistyped word must have where words are missing [-]."""

MISSING_WORD = 0.1
"""Weight of a missing word of the name, relative to that of a word [-]."""


def is_it(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: `` (is it 'wrist'?)``, or nothing if no name is near.

    Args:
        name: the unknown one.
        known: the names that are valid in its place.
    """
    near = nearest(str(name), known)
    return f" (is it {near!r}?)" if near else ""


def one_of(name: object, known: Iterable[str]) -> str:
    """The part of a message that lists the valid names: ``one of a, b, not 'c'``, and which it may be."""
    names = list(known)
    return f"one of {', '.join(names)}, not {name!r}{is_it(name, names)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that is the nearest to another one; the first of several, "" if none is near."""
    found = {one: _likeness(name, one) for one in known} if len(name) > 1 else {}
    best = max(found, key=found.__getitem__, default="")
    return best if best and found[best] > 0.0 else ""


def misspelt(name: str, known: Iterable[str]) -> str:
    """The known name that a whole name is with slips; "" if none. Names that differ in a number never match."""
    numbers, count = re.findall(r"\d+", name), len(_words(name))
    found = nearest(name, [one for one in known if re.findall(r"\d+", one) == numbers and len(_words(one)) == count])
    return found if _ratio(name.lower(), found.lower()) >= NEAR else ""


def _likeness(name: str, meant: str) -> float:
    """Likeness of two names, from 0 where a word of the first has no counterpart in the second, to 1."""
    whole = _ratio(name.lower(), meant.lower())
    if whole >= CERTAIN:
        return whole
    words, left, total = _words(name), _words(meant), 0.0
    shortest = 1 if len(words) == len(left) else LONG
    for word in words:
        each = {one: _likeness_of_words(word, one, shortest) for one in left}
        one = max(each, key=each.__getitem__, default="")
        if not one or each[one] < NEAR:
            return 0.0
        total += each[one]
        left.remove(one)
    return total / (len(words) + MISSING_WORD * len(left)) if words else 0.0


def _likeness_of_words(word: str, meant: str, shortest: int) -> float:
    if meant == word or (meant.startswith(word) and len(word) >= SHORTEST):
        return 1.0
    return _ratio(word, meant) if len(word) >= shortest else 0.0


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", name.lower()) if word]


@contextmanager
def signals_deferred() -> Iterator[list[int]]:
    """Have SIGINT, SIGTERM and SIGHUP take effect at the end of the block; yields those that have come.

    What such a signal interrupts, such as the start of a process, is then either done and known, or not begun. Python
    loses an exception that a handler raises as C calls a function, and IPOPT takes it for a wish to stop: what calls
    such code looks at what has come.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread only
        yield came
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)
