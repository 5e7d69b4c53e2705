# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Functions in C, for loops in C to call: of a program, and others beside it."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from typing import Any

from robodyn_ros.engine.codegen import batch_source, kernel_source
from robodyn_ros.engine.library import (
    COMPILER_HINT,
    CacheError,
    CompilationError,
    is_listing,
    loaded,
    make_library,
    start_library,
)
from robodyn_ros.engine.program import Program
from robodyn_ros.errors import NotReadyError


def text_key(text: str) -> str:
    """The key of a library that is made of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def required(what: str, name: str, key: str, source: Callable[[], str], kind: type[ctypes.CDLL] = ctypes.CDLL) -> Any:
    """A library as :func:`.loaded` has it.

    Args:
        what: needs it, for the message.
        name: of a function in it.
        key: tells libraries of that name apart.
        source: writes the code.
        kind: of ctypes, ``CDLL`` or ``PyDLL``.

    Raises:
        NotReadyError: there is no C compiler, or it fails; the message says how to get one, or what it said.
    """
    found = loaded(name, key, source, kind)
    if found is None:
        raise NotReadyError(f"{what} {_reason(name, key, source)}")
    return found


def _reason(name: str, key: str, source: Callable[[], str]) -> str:
    """Why there is no such library: what the compiler says, or that there is none."""
    if not is_listing():
        try:
            make_library(name, key, source)
        except (CacheError, CompilationError, OSError) as cause:
            return f"cannot be compiled: {cause}"
    return f"needs a C compiler, and none was found: {COMPILER_HINT}"


def plain_function(program: Program) -> Any:
    """A program as a C function of its inputs, the parameters and the memory for the result; None likewise."""
    library = run_library(program)
    return None if library is None else library[f"{program.name}_plain"]


def run_library(program: Program) -> Any:
    """The library of a program with ``run``, ``prepare`` and ``constants`` (:func:`.kernel_source`); None likewise."""
    return loaded(program.name, program.key, lambda: kernel_source(program))


def start_library_of(program: Program) -> None:
    """Have that library made beside the program's work (:func:`.start_library`)."""
    start_library(program.name, program.key, lambda: kernel_source(program))


def start_batch(program: Program) -> None:
    """Have the code of a program for many states made beside the program's work, likewise."""
    start_library(f"{program.name}_batch", program.key, lambda: batch_source(program))
