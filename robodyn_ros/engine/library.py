"""A program's shared library: from the cache, else compiled now."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from robodyn_ros.engine.compiler import CompilationError, find_compiler, processor
from robodyn_ros.errors import RobodynError

# Where compiled arms live: a folder that only this user can write to.
#
# An entry is a shared library and, beside it, the SHA-256 of its content. A library is loaded only if the folder
# belongs
# to this user, nobody else can write to it and the checksum fits; anything else is a miss, and the entry is built
# again. Entries appear by an atomic rename, so two nodes that start at once cannot see each other's half-written files.
#
# A library has two keys. The first is what its program is made of, our own source files included: it is known at once.
# The second is the generated C code: where an edit of a source file leaves the C as it was, nothing is compiled anew.


class CacheError(RobodynError):
    """The cache folder cannot be trusted or written to; the message says what would be right."""


def cache_folder() -> Path:
    """The folder for compiled arms, made if need be: ``$XDG_CACHE_HOME/robodyn_ros``, else ``~/.cache/robodyn_ros``.

    Raises:
        CacheError: it cannot be made, belongs to somebody else, or others may write to it.
    """
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The XDG base directory specification: a relative path is invalid and to be ignored.
        base = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
        folder = base / "robodyn_ros"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except (OSError, RuntimeError) as cause:
        raise CacheError(
            f"the cache folder cannot be made: {cause}; set XDG_CACHE_HOME to a folder of yours"
        ) from cause
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(
            f"{folder} is not safe to load code from: it must belong to you and be writable by you alone (chmod 700)"
        )
    return folder


def lookup(folder: Path, key: str) -> Path | None:
    """The library stored under a key, or None if there is none that is whole and safe."""
    library, checksum = folder / f"{key}.so", folder / f"{key}.sha256"
    try:
        status = library.lstat()
        expected = checksum.read_text()
        content = library.read_bytes()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        return None
    return library if hashlib.sha256(content).hexdigest() == expected else None


def store(folder: Path, key: str, content: bytes) -> Path:
    """Put a library under a key, atomically."""
    # The library first: a library without its checksum is a miss, not a fault.
    library = _replace(folder / f"{key}.so", content)
    _replace(folder / f"{key}.sha256", hashlib.sha256(content).hexdigest().encode())
    return library


def by_code(folder: Path) -> Path:
    """The folder of the libraries whose key is their C code, made if need be."""
    path = folder / "code"
    path.mkdir(exist_ok=True, mode=0o700)
    return path


def link(folder: Path, key: str, library: Path) -> Path:
    """Put a stored library under another key as well, atomically and without a copy."""
    for suffix in (".so", ".sha256"):
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{key}-") as temporary:
            name = Path(temporary, "link")
            os.link(library.with_suffix(suffix), name)
            os.replace(name, folder / f"{key}{suffix}")
    return folder / f"{key}.so"


def _replace(path: Path, content: bytes) -> Path:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return path


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
    except (CacheError, CompilationError, OSError) as cause:
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
    folder = cache_folder()
    if compiler is None or not has_casadi():
        return _any_of_its_kind(folder, stem)
    toolchain = _short(compiler.identity + _casadi_version())
    found = lookup(folder, f"{stem}-{toolchain}")
    if found is not None:
        return found
    code = source()
    code_key, made = f"{name}-{_short(code)}-{_short(processor())}-{toolchain}", by_code(folder)
    library = lookup(made, code_key) or store(made, code_key, compiler.compile(code))
    return link(folder, f"{stem}-{toolchain}", library)


def _any_of_its_kind(folder: Path, stem: str) -> Path | None:
    for path in sorted(folder.glob(f"{stem}-*.so")):
        found = lookup(folder, path.stem)
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
