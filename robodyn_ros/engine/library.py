"""A program's shared library: from the cache, else compiled now."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from robodyn_ros.engine import cache
from robodyn_ros.engine.compiler import CompilationError, find_compiler, processor

log = logging.getLogger("robodyn_ros")


class Wanted(NamedTuple):
    """A library that somebody asked for: what ``make_library`` takes."""

    name: str
    key: str
    source: Callable[[], str]


_lists: list[list[Wanted]] = []


@contextmanager
def only_listed() -> Iterator[list[Wanted]]:
    """Within it no library is made or found, only listed; CasADi's virtual machine does the work."""
    _lists.append([])
    try:
        yield _lists[-1]
    finally:
        _lists.pop()


def find_library(name: str, key: str, source: Callable[[], str]) -> Path | None:
    """As ``make_library``, but None for every reason, which is logged, once."""
    if _lists:
        _lists[-1].append(Wanted(name, key, source))
        return None
    try:
        return make_library(name, key, source)
    except (cache.CacheError, CompilationError, OSError) as cause:
        _say_slow(str(cause))
        return None


def make_library(name: str, key: str, source: Callable[[], str]) -> Path | None:
    """The library of that name and key, or None where there is none and there is nothing to make one with.

    Without a compiler, or without CasADi, what another machine of the same processor compiled serves as well.

    Args:
        name: of the function in it.
        key: tells functions of that name apart.
        source: writes the code; called only when there is nothing in the cache.

    Raises:
        CacheError: the cache cannot be used.
        CompilationError: the compiler failed.
        OSError: the library cannot be written.
    """
    stem = f"{name}-{key}-{_short(processor())}"
    compiler = find_compiler()
    folder = cache.cache_folder()
    if compiler is None or not has_casadi():
        return _any_of_its_kind(folder, stem)
    toolchain = _short(compiler.identity + _casadi_version())
    found = cache.lookup(folder, f"{stem}-{toolchain}")
    if found is not None:
        return found
    code = source()
    by_code, made = f"{name}-{_short(code)}-{_short(processor())}-{toolchain}", cache.by_code(folder)
    library = cache.lookup(made, by_code) or cache.store(made, by_code, compiler.compile(code))
    return cache.link(folder, f"{stem}-{toolchain}", library)


def _any_of_its_kind(folder: Path, stem: str) -> Path | None:
    for path in sorted(folder.glob(f"{stem}-*.so")):
        found = cache.lookup(folder, path.stem)
        if found is not None:
            return found
    _say_slow("no C compiler found (cc, gcc, clang)" if has_casadi() else f"{stem} is not in the cache")
    return None


def _say_slow(reason: str) -> None:
    here = "running on CasADi's virtual machine, which is slower"
    say_once(f"{reason}: {here if has_casadi() else 'CasADi, which could make it, is not installed'}")


def _casadi_version() -> str:
    try:
        return version("casadi")
    except PackageNotFoundError:  # built from source, or by a distribution: it is there without being listed
        import casadi

        return str(casadi.__version__)


@lru_cache(maxsize=16)
def say_once(message: str) -> None:
    """Log a warning the first time it is given."""
    log.warning(message)


@lru_cache(maxsize=1)
def has_casadi() -> bool:
    """Whether expressions can be written, compiled and run here."""
    return find_spec("casadi") is not None


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
