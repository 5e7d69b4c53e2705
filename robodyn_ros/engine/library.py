"""A program's shared library: from the cache, else compiled now."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from robodyn_ros.engine import cache
from robodyn_ros.engine.compiler import CompilationError, find_compiler, processor

log = logging.getLogger("robodyn_ros")


def find_library(name: str, key: str, source: Callable[[], str]) -> Path | None:
    """The library of that name and key, or None where there is none and none can be made; the reason is logged, once.

    Without a compiler, or without CasADi, what another machine of the same processor compiled serves as well.
    """
    stem = f"{name}-{key}-{_short(processor())}"
    compiler = find_compiler()
    try:
        folder = cache.cache_folder()
        if compiler is None or not has_casadi():
            return _any_of_its_kind(folder, stem)
        exact = f"{stem}-{_short(compiler.identity + version('casadi'))}"
        return cache.lookup(folder, exact) or cache.store(folder, exact, compiler.compile(source()))
    except (cache.CacheError, CompilationError, OSError) as cause:
        say_once(f"{cause}: running on CasADi's virtual machine, which is slower")
        return None


def _any_of_its_kind(folder: Path, stem: str) -> Path | None:
    for path in sorted(folder.glob(f"{stem}-*.so")):
        found = cache.lookup(folder, path.stem)
        if found is not None:
            return found
    say_once("no C compiler found (cc, gcc, clang): running on CasADi's virtual machine, which is slower")
    return None


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
