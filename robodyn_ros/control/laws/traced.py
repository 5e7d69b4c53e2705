# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A control law as expressions: ``compute`` and ``advance`` are called with symbols.

:mod:`robodyn_ros.engine.tracing` describes the method.
The numbers of a law are attributes: floats and arrays of floats, of the law itself or of objects that it has. Those
named in ``remembers`` are its memory. The others are its settings: gains, values computed from them, and the runtime
parameters of the model. So a change of gains needs no compilation. All other attributes (a switch, a name, the number
of joints) are constants of the code.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.dynamics import CompiledDynamics, Dynamics, Parameters
from robodyn_ros.engine import Kernel, digest
from robodyn_ros.engine.casadi import has_casadi, missing
from robodyn_ros.engine.program import class_key, hash_sources
from robodyn_ros.engine.tracing import Trace, TracedArray, TraceError, elements_of, symbols
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot import Array, Robot

SHARED = (Dynamics, Kinematics, Kernel, Robot, Parameters, type, ModuleType, FunctionType, MethodType)
"""Types that a law only refers to: attributes of such objects are not the law's."""

AS_PYTHON = "it is set to run as Python (traced = False)"

METHODS = ("compute", "advance", "correction", "look_ahead")


class LawNumbers(NamedTuple):
    """The numbers of a law: path of the attribute, such as ``_friction._viscous`` → array or float."""

    settings: dict[str, Any]
    memory: dict[str, Any]
    constants: tuple[tuple[str, str], ...]  # path and repr of each attribute that is no number


def law_numbers(law: Controller) -> LawNumbers:
    """Find the numbers of a law, in the order of their paths."""
    found: dict[str, Any] = {}
    constants: dict[str, str] = {}
    _copied(law, "", {}, lambda path, value: found.setdefault(path, value), constants)
    memory = {name: found.pop(name) for name in law.remembers if name in found}
    return LawNumbers({path: found[path] for path in sorted(found)}, memory, tuple(sorted(constants.items())))


def kind_problem(kind: type[Controller]) -> str:
    """Why no law of a class can be traced; "" if the class has no such reason."""
    if not kind.traced:
        return AS_PYTHON
    if kind.look_ahead is not Controller.look_ahead:
        return "it plans: look_ahead gives it references to come, as Python objects"
    return ""


def why_not_traced(law: Controller) -> str:
    """Why a law cannot be traced, without trying it; "" if no reason is found."""
    if problem := kind_problem(type(law)) or ("" if law.traced else AS_PYTHON):
        return problem
    if patched := [name for name in METHODS if name in vars(law)]:
        return f"its {patched[0]} is replaced on the object"
    if not isinstance(law.dynamics, CompiledDynamics):
        return f"its model, {type(law.dynamics).__name__}, has no expressions"
    replaced = law.dynamics.replaced()
    return f"its model, {type(law.dynamics).__name__}, computes {replaced[0]} in Python" if replaced else ""


def law_key(law: Controller, numbers: LawNumbers) -> str:
    """Key of the code of a law for its arm: equal keys mean equal code."""
    shapes = [(path, np.shape(value)) for group in numbers[:2] for path, value in group.items()]
    facts = repr((shapes, numbers.constants)).encode() + _kind_key(type(law)) + _robot_key(law.dynamics.robot)
    return hashlib.sha256(facts).hexdigest()[:32]


@lru_cache(maxsize=64)
def _kind_key(kind: type[Controller]) -> bytes:
    sources = hash_sources(Path(__file__).parents[2], ("control",))
    return digest(class_key(kind), sources, source=__name__).encode()


@lru_cache(maxsize=4)
def _robot_key(robot: Robot) -> bytes:
    """Key of everything of the robot that may be a constant of the code: joints with their limits, bodies, links."""
    return hashlib.sha256(repr(_facts((robot.joints, robot.bodies, robot.links))).encode()).digest()


def _facts(value: Any) -> Any:
    """All numbers of an object, with all of their digits in its ``repr``."""
    if isinstance(value, tuple):
        return tuple(map(_facts, value))
    if is_dataclass(value):
        return tuple(_facts(getattr(value, item.name)) for item in fields(value))
    return value.tolist() if isinstance(value, np.ndarray) else value


def unflat(numbers: dict[str, Any], values: Array) -> dict[str, Any]:
    """The reverse of :func:`.joined`, in the shapes of ``numbers``."""
    bounds = np.cumsum([0, *(np.size(value) for value in numbers.values())])
    return {
        name: values[start:end].reshape(np.shape(value))
        for (name, value), start, end in zip(numbers.items(), bounds[:-1], bounds[1:], strict=True)
    }


class TracedLaw:
    """A law whose numbers are symbols, for one trace: its ``settings``, in the order of :func:`law_numbers`, and its
    ``memory``, likewise: symbols first, and expressions after :meth:`learn`.
    """

    def __init__(self, law: Controller) -> None:
        """TraceError: it cannot be traced."""
        if problem := why_not_traced(law) or ("" if has_casadi() else missing()):
            raise TraceError(problem)
        self._kind = type(law)
        numbers = law_numbers(law)
        if unknown := [name for name in law.remembers if name not in numbers.memory]:
            raise TraceError(f"it remembers {unknown[0]!r}, which is no number and no array of floats")
        made = {path: symbols(f"s{k}", np.shape(value)) for k, (path, value) in enumerate(numbers.settings.items())}
        self.settings = list(made.values())
        made |= {path: symbols(f"m{k}", np.shape(value)) for k, (path, value) in enumerate(numbers.memory.items())}
        self._trace = Trace()
        for path, value in (numbers.settings | numbers.memory).items():
            if isinstance(value, np.ndarray):
                self._trace.name(value, made[path])
        self._law: Controller = _copied(law, "", {}, lambda path, _: made[path], {})

    @property
    def memory(self) -> list[TracedArray]:
        """The memory now."""
        return [TracedArray(elements_of(getattr(self._law, name))) for name in self._law.remembers]

    @property
    def ki(self) -> Array:
        """Gain on the integral of the position error, (n,)."""
        return self._law.ki

    def gravity(self, q: Array) -> Array:
        """The gravity effort of the law's model, (n,)."""
        return self._run(self._law.dynamics.gravity, q)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        before = self._state()
        given = self._run(self._law.compute, q, qd, reference, integral)
        if changed := self._changed(before):
            raise TraceError(f"compute changes self.{changed[0]}; only advance may")
        if not isinstance(given, Efforts):
            raise TraceError(f"compute gives {type(given).__name__}, no Efforts")
        n = self._law.dynamics.robot.n
        if wrong := [name for name, term in given._asdict().items() if np.shape(elements_of(term)) != (n,)]:
            raise TraceError(f"the term {wrong[0]} is not of shape ({n},)")
        terms: Any = [TracedArray(elements_of(term)) for term in given]
        return Efforts(*terms)

    def learn(self, is_due: Any, dt: Any, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """:meth:`Controller.advance`, if it is due: where ``is_due`` is 0 the memory stays."""
        if self._kind.advance is Controller.advance:
            return
        before = self._state()
        held = {name: getattr(self._law, name) for name in self._law.remembers}
        kept = {name: TracedArray(elements_of(value).copy()) for name, value in held.items()}
        self._run(self._law.advance, dt, q, qd, reference, asked, sent)
        if changed := [path for path in self._changed(before) if path not in kept]:
            raise TraceError(f"advance changes self.{changed[0]}, which `remembers` does not name")
        for name, old in kept.items():
            new = getattr(self._law, name)
            if np.shape(elements_of(new)) != old.shape:
                raise TraceError(f"advance changes the shape of self.{name}")
            chosen = np.where(is_due, new, old)
            if new is held[name] and new.ndim:
                new[...] = chosen  # in place, for compiled functions that read this array
            else:
                object.__setattr__(self._law, name, chosen)

    def _run(self, method: Callable[..., Any], *values: Any) -> Any:
        with self._trace.running():
            try:
                return method(*values)
            except TraceError:
                raise
            except Exception as cause:  # of a plugin's law that does not expect symbols
                raise TraceError(f"{type(cause).__name__}: {cause}") from cause

    def _state(self) -> dict[str, list[Any]]:
        """Path of each attribute → the elements of one that is a number, or the repr of another one."""
        found: dict[str, list[Any]] = {}
        constants: dict[str, str] = {}

        def visit(path: str, value: Any) -> Any:
            found[path] = [np.shape(value), *elements_of(value).ravel().tolist()]
            return value

        _copied(self._law, "", {}, visit, constants)
        return found | {path: [text] for path, text in constants.items()}

    def _changed(self, before: dict[str, list[Any]]) -> list[str]:
        """Paths of attributes that have changed since ``before``."""
        now = self._state()
        return [path for path in sorted(now.keys() | before) if not _same(now.get(path, []), before.get(path, []))]


def _same(now: Sequence[Any], before: Sequence[Any]) -> bool:
    plain = (tuple, float, str)  # the others are symbols
    pairs = zip(now, before, strict=False)
    return len(now) == len(before) and all(
        x is y or (isinstance(x, plain) and isinstance(y, plain) and x == y) for x, y in pairs
    )


def _copied_container(value: Any, path: str, copied: Callable[[Any, str], Any], constants: dict[str, str]) -> Any:
    """A copy of a tuple, a list or a dict; ``copied`` gives the copy of an item at its path."""
    if isinstance(value, dict):
        constants[path] = f"dict of {sorted(map(repr, value))}"
        return {key: copied(item, f"{path}[{key!r}]") for key, item in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*(copied(item, f"{path}.{name}") for name, item in zip(value._fields, value, strict=True)))
    constants[path] = f"{type(value).__name__} of {len(value)}"
    return type(value)(copied(item, f"{path}[{k}]") for k, item in enumerate(value))


def _copied(
    value: Any, path: str, made: dict[int, Any], number: Callable[[str, Any], Any], constants: dict[str, str]
) -> Any:
    """A copy of an object, at a path from the law, with other numbers: ``number`` gives the replacement for path and
    value of each, ``made`` has copies by the id of their original, and ``constants`` gets path and repr of all other
    values.
    """
    if isinstance(value, (TracedArray, float)) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        return number(path, value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return number(path, TracedArray(elements_of(value)))
    if isinstance(value, CompiledDynamics):
        if id(value) not in made:
            made[id(value)] = value
            number(f"{path}.symbols", value.symbols)
        constants[path] = repr((type(value).__qualname__, value.key))
        return value
    if isinstance(value, SHARED):
        constants[path] = str(getattr(value, "__qualname__", type(value).__qualname__))
        return value

    def copied(item: Any, where: str) -> Any:
        return _copied(item, where, made, number, constants)

    if isinstance(value, (tuple, list, dict)):
        return _copied_container(value, path, copied, constants)
    if not (hasattr(value, "__dict__") or is_dataclass(value)) or isinstance(value, BaseException):
        constants[path] = repr(_facts(value))
        return value
    if id(value) in made:
        return made[id(value)]
    constants[path] = type(value).__qualname__
    try:
        made[id(value)] = copy.copy(value)
    except Exception:  # for objects that cannot be copied, such as memory of a library in C
        return value
    return _fill(made[id(value)], value, path, copied)


def _fill(twin: Any, value: Any, path: str, copied: Callable[[Any, str], Any]) -> Any:
    """Give the copy of an object copies of its attributes; ``copied`` gives the copy of one at its path."""
    for name, item in vars(value).items():
        object.__setattr__(twin, name, copied(item, f"{path}.{name}".lstrip(".")))
    return twin
