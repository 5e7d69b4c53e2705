# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A program: CasADi expressions with a name, and the key by which the cache knows their code."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from operator import attrgetter
from pathlib import Path
from uuid import uuid4
from weakref import WeakKeyDictionary

from robodyn_ros.engine.casadi import ca


@dataclass(frozen=True)
class Program:
    """A function of a few vectors and one vector of runtime parameters.

    Attributes:
        name: a C identifier.
        key: tells programs of one name apart; equal keys mean equal code.
        inputs: names and lengths of the inputs that change with every call.
        outputs: shapes of the results; () is a scalar.
        build: makes the expressions: the symbols of the inputs and, last, of the parameters; and the results.
            Called only when there is nothing in the cache.
    """

    name: str
    key: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[int, ...], ...]
    build: Callable[[], tuple[Sequence[ca.SX], Sequence[ca.SX]]]

    @classmethod
    def of(
        cls,
        name: str,
        key: str,
        inputs: tuple[tuple[str, int], ...],
        parameters: int,
        outputs: tuple[tuple[int, ...], ...],
        results: Callable[..., Sequence[ca.SX]],
    ) -> Program:
        """A program by its results as a function of the symbols of the inputs and of a number of parameters."""

        def build() -> tuple[list[ca.SX], Sequence[ca.SX]]:
            symbols = [ca.SX.sym(label, length) for label, length in (*inputs, ("parameters", parameters))]
            return symbols, results(*symbols)

        return cls(name, key, inputs, outputs, build)

    @property
    def widths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Numbers per state: of each input, and of each output."""
        return tuple(length for _, length in self.inputs), tuple(map(prod, self.outputs))

    def function(self) -> ca.Function:
        """The expressions as a CasADi function: inputs, parameters → results in row-major order.

        The last ``KEPT`` functions are cached for other objects of the same arm.
        """
        kept = _functions.pop((self.name, self.key), None)
        if kept is None:
            symbols, results = self.build()
            outputs = ca.cse([ca.densify(ca.vec(r.T)) for r in results])
            kept = ca.Function(self.name, list(symbols), outputs)
        _functions[self.name, self.key] = kept  # the last one of the dictionary
        while len(_functions) > KEPT:
            _functions.pop(next(iter(_functions)), None)
        return kept


KEPT = 32
"""Number of functions that a process caches."""

_functions: dict[tuple[str, str], ca.Function] = {}
"""Name and key of a program → its function, the last used at the end."""


def digest(*facts: object, source: str) -> str:
    """A program's key. It changes with the facts that the program is built from and with the code that builds it.

    Args:
        *facts: objects whose ``repr`` identifies them.
        source: name of the module that writes the expressions.
    """
    code = Path(sys.modules[source].__file__ or "").read_bytes()
    sources = hash_sources(Path(__file__).parent.parent)
    return hashlib.sha256(repr(facts).encode() + code + sources).hexdigest()[:32]


_class_keys: WeakKeyDictionary[type, str] = WeakKeyDictionary()

OWN = __name__.partition(".")[0]
"""Name of this package."""


def class_key(kind: type) -> str:
    """The key of a class that writes expressions, perhaps a plugin's: of its name, and of the code of it and its bases.

    A class that no file has under its name, such as one of a notebook or of a function, has a key of its own in each
    process, because nothing shows whether its code is the same.
    """
    if kind not in _class_keys:
        bases = [base for base in kind.__mro__ if any(_package(each) == OWN for each in base.__mro__)]
        known = list(map(_code_of, bases))
        name = uuid4().hex if None in known else f"{kind.__module__}.{kind.__qualname__}"
        _class_keys[kind] = hashlib.sha256(repr((name, known)).encode()).hexdigest()
    return _class_keys[kind]


def _package(kind: type) -> str:
    """The name of the package of a class."""
    return kind.__module__.partition(".")[0]


def _code_of(kind: type) -> bytes | None:
    """The file of a class, and those beside it, or of its whole package, if they are another's; None if no file has it
    by its name.
    """
    module = sys.modules.get(kind.__module__)
    file = Path(getattr(module, "__file__", None) or "")
    try:
        if attrgetter(kind.__qualname__)(module) is not kind or not file.is_file():
            return None
    except AttributeError:  # of a function, or of a cell that has been run again
        return None
    files = {file}
    if _package(kind) != OWN:
        folders = map(Path, getattr(sys.modules[_package(kind)], "__path__", ()))
        files |= {each for folder in folders for each in folder.rglob("*.py")} or set(file.parent.glob("*.py"))
    return b"".join(each.read_bytes() for each in sorted(files))


@lru_cache(maxsize=2)
def hash_sources(package: Path, rooms: Sequence[str] = ("engine", "kinematics", "dynamics")) -> bytes:
    """A hash of every source file that writes expressions or C code, subfolders included.

    Args:
        package: the folder of this package.
        rooms: its folders that have such files.
    """
    hashed = hashlib.sha256()
    for room in rooms:
        for file in sorted((package / room).rglob("*.py")):
            content = file.read_bytes()
            hashed.update(f"{file.relative_to(package)} {len(content)}\n".encode())
            hashed.update(content)
    return hashed.digest()
