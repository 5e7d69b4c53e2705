# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""C from Python: the functions of a library, and the structs that both languages share.

The C file declares its structs. They become records of NumPy, so that both languages work on the same memory.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from robodyn_ros.engine.codegen import batch_source, kernel_source
from robodyn_ros.engine.library import COMPILER_HINT, CacheError, CompilationError, load, loaded, start_library
from robodyn_ros.engine.program import Program
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.robot.pose import Array


def text_key(text: str) -> str:
    """The key of a library that is made of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def required(what: str, name: str, key: str, source: Callable[[], str], kind: type[ctypes.CDLL] = ctypes.CDLL) -> Any:
    """Return a library, loaded as by :func:`.load`.

    Args:
        what: the part that needs it, for the message.
        name: of a function in it.
        key: tells libraries of that name apart.
        source: writes the code.
        kind: of ctypes, ``CDLL`` or ``PyDLL``.

    Raises:
        NotReadyError: there is no C compiler, or it fails; the message says how to get one, or has its output.
    """
    try:
        found = load(name, key, source, kind)
    except (CacheError, CompilationError, OSError) as cause:
        raise NotReadyError(f"{what} cannot be compiled: {cause}") from cause
    if found is None:
        raise NotReadyError(f"{what} needs a C compiler, and none was found: {COMPILER_HINT}")
    return found


def kept(call: Callable[[], object], problems: list[BaseException]) -> bool:
    """Call a function for C, which would go on after an exception, also after Ctrl-C: it is kept in ``problems``, to be
    raised when C has returned. True if one is kept.
    """
    try:
        call()
    except BaseException as problem:
        problems.append(problem)
    return bool(problems)


def plain_function(program: Program) -> Any:
    """A program as a C function of its inputs, the parameters and the memory for the result; None without a library."""
    library = run_library(program)
    return None if library is None else library[f"{program.name}_plain"]


def address_of(function: Any) -> int:
    """The address of a function in C; 0 for None."""
    return 0 if function is None else int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def run_library(program: Program) -> Any:
    """The library of a program with ``run``, ``prepare`` and ``constants`` (:func:`.kernel_source`), or None."""
    return loaded(program.name, program.key, lambda: kernel_source(program))


def start_library_of(program: Program) -> None:
    """Start to compile that library in the background (:func:`.start_library`)."""
    start_library(program.name, program.key, lambda: kernel_source(program))


def batch_function(program: Program, kind: type[ctypes.CDLL] = ctypes.CDLL) -> Any:
    """A program as a C function of many states (:func:`.batch_source`); None without a library."""
    name = f"{program.name}_batch"
    library = loaded(name, program.key, lambda: batch_source(program), kind)
    return None if library is None else library[name]


def addresses_of(arrays: Iterable[Array]) -> Any:
    """The addresses of arrays, as an array in C."""
    given = [array.ctypes.data for array in arrays]
    return (ctypes.c_void_p * len(given))(*given)


def start_batch(program: Program) -> None:
    """Start to compile the code of a program for many states in the background."""
    start_library(f"{program.name}_batch", program.key, lambda: batch_source(program))


NUMBERS = {"double": np.float64, "int64_t": np.int64}
"""Types of numbers in C → NumPy's. All are 8 bytes wide, and so are pointers, so that structs have no gaps."""


class CStructs:
    """The structs that a C file declares, ``typedef struct { … } Name;``.

    A member is a number, an array of numbers, a pointer, or a struct declared before. Its type may be any name.

    Attributes:
        constants: name → value of each constant of an ``enum``, and of the sizes.
        pointers: names of members that are pointers.
    """

    def __init__(self, code: str, sizes: Mapping[str, int]) -> None:
        """
        Args:
            code: the C file.
            sizes: value of each name that stands in an ``enum`` or in the size of an array, and is no constant there.
        """
        self._types: dict[str, np.dtype[Any]] = {}
        self.pointers: set[str] = set()
        self.constants: dict[str, int] = dict(sizes)
        plain = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
        for body in re.findall(r"enum \{(.*?)\}", plain, re.DOTALL):
            self._read_enum(body)
        for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", plain, re.DOTALL):
            self._types[name] = np.dtype(list(self._members(body, self.constants)))

    def _read_enum(self, body: str) -> None:
        value = -1
        for item in filter(str.strip, body.split(",")):
            name, _, given = (part.strip() for part in item.partition("="))
            # Constants are written in a file of this package: names, numbers, products and sums.
            value = eval(given, {}, self.constants) if given else value + 1
            self.constants[name] = value

    def _members(self, body: str, sizes: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
        for line in body.split(";"):
            words = line.replace("const ", "").strip()
            if not words:
                continue
            kind, names = re.fullmatch(r"(\w+\b(?:\s*\*+)?)\s*(.*)", words, re.DOTALL).groups()  # type: ignore[union-attr]
            for name in names.split(","):
                stars, word, size = re.fullmatch(r"\s*(\**)(\w+)(?:\[(.*)\])?\s*", name).groups()  # type: ignore[union-attr]
                is_pointer = stars or "*" in kind
                self.pointers |= {word} if is_pointer else set()
                number = np.int64 if is_pointer else NUMBERS.get(kind) or self._types[kind]
                # Sizes are written in a file of this package: names, numbers, products and sums.
                yield (word, number) if size is None else (word, number, (eval(size, {}, dict(sizes)),))

    def make_array(self, name: str, count: int) -> Any:
        """An array of structs of zeros."""
        return np.zeros(count, self._types[name])

    def type_of(self, name: str) -> np.dtype[Any]:
        """The type of a struct."""
        return self._types[name]

    def make(self, name: str) -> Record:
        """A struct of zeros."""
        return Record(self._types[name])


class Record:
    """A struct in memory.

    Attributes:
        array: the struct, as an array () of a structured type.
        address: its address in memory.
        fields: its members as views, () or (width,); a struct in it has fields of its own.
    """

    def __init__(self, kind: np.dtype[Any]) -> None:
        """
        Args:
            kind: its type.
        """
        self.array: Any = np.zeros((), kind)
        self.address: int = self.array.ctypes.data
        self.fields = _views(self.array)

    def set(self, values: Mapping[str, Any]) -> None:
        """Write members by name: for an array its address, and the array has to outlive the struct."""
        for name, value in values.items():
            getattr(self.fields, name)[...] = value.ctypes.data if isinstance(value, np.ndarray) else value


class Uncopied:
    """An object with memory at a fixed place, on which C code works: it can be neither copied nor pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        """
        Raises:
            RobodynError: always.
        """
        problem = "can be neither copied nor pickled, because C code works on it; make another from the same settings"
        raise RobodynError(f"{type(self).__name__} {problem}")


def memory_at(address: int, size: int) -> Any:
    """A buffer of ``size`` bytes at an address; the memory has to outlive it."""
    return (ctypes.c_char * size).from_address(address)


def numbers_at(kind: np.dtype[Any], address: int, first: str, last: str) -> Array:
    """The members of a struct from the first to the last, all of them doubles, as one array (width,).

    Args:
        kind: type of the struct.
        address: where it is.
        first: name of the first member.
        last: of the last.
    """
    places: Any = kind.fields
    begin, (number, end) = places[first][1], places[last][:2]
    memory = memory_at(address, kind.itemsize)
    return np.ndarray(((end + number.itemsize - begin) // 8,), np.float64, memory, begin)


def views_at(kind: np.dtype[Any], address: int) -> SimpleNamespace:
    """The members of a struct at an address, as :attr:`Record.fields`; the memory has to outlive them."""
    return _views(np.ndarray((), kind, memory_at(address, kind.itemsize)))


def _views(array: Any) -> Any:
    """The members of a struct as views, which a number or an array of numbers is itself."""
    if array.dtype.names is None:
        return array
    return SimpleNamespace(**{name: _views(array[name]) for name in array.dtype.names})
