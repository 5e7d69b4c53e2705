# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A program's shared library: from the cache, else compiled now and put there.

The cache is a folder that only this user can write to. An entry is a shared library and, beside it, the SHA-256 of its
content. A library is loaded only if its folder belongs to this user, nobody else can write to either, and the checksum
fits; anything else is a miss, and the entry is built again. What is loaded is the very file that was checked, by its
descriptor (:func:`load_library`), because the owner of a folder above the cache could exchange the file at any moment.
Entries appear by an atomic rename, so two processes that start at once cannot see each other's half-written files. One
of them builds an entry that both need, and the other waits for it.

A library has two keys. The first is made of what its program is built from, our own source files included; it is known
before any expression is written. The second is the generated C code: where an edit of a source file leaves the C as it
was, nothing is compiled anew. The libraries lie in the subfolder ``code`` under the second key, and hard links in the
cache folder name them by the first.

The compiler takes most of the time of a first start. Therefore it runs in threads (:class:`Build`): a caller starts a
build early (:func:`start_library`), does other work, and waits only when it asks for the library (:func:`loaded`).
Each build is logged to ``robodyn_ros`` when it begins, with its number and the number of builds known so far.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import itertools
import json
import logging
import os
import platform
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

from robodyn_ros.engine.casadi import ca, has_casadi
from robodyn_ros.errors import RobodynError

log = logging.getLogger("robodyn_ros")

NATIVE = {"x86_64": ("-march=native",), "aarch64": ("-mcpu=native",), "arm64": ("-mcpu=native",)}
"""Machine → flags with which GCC and clang use all instructions of this very processor; none for other machines."""

# No -ffast-math: NaN and infinity must survive to be seen. Contraction to fused multiply-add only ever rounds less.
FLAGS = (
    *("-O2", *NATIVE.get(platform.machine(), ()), "-fno-math-errno", "-ffp-contract=fast"),
    *("-fPIC", "-fno-semantic-interposition", "-fno-plt", "-w"),
)
LINKED = ("-lm",)
TIMEOUT = 600.0
"""Time that the compiler may take [s]."""

POLL_PERIOD = 0.01
"""Time between two looks whether another process has made a library [s]."""

PATIENCE = 10.0
"""Time after which a process that still waits for another one says so [s]."""

COMPILER_HINT = "install one (Debian and Ubuntu: sudo apt install gcc), or name it in the environment variable CC"
"""Remedy for a missing compiler."""

PAGE = "\f"
"""Separates the pages of a C file, which are compiled in parallel, each behind the first one; white space in C."""


@contextmanager
def library_records(info: Callable[[str], object], warning: Callable[[str], object]) -> Iterator[None]:
    """In this context the package's log goes to two functions: compilations to one, warnings to the other."""
    before, handler = log.level, _Telling(info, warning)
    log.addHandler(handler)
    log.setLevel(min(logging.INFO, before) if before else logging.INFO)
    try:
        yield
    finally:
        log.setLevel(before)
        log.removeHandler(handler)


class _Telling(logging.Handler):
    """Gives the text of a record to a function."""

    def __init__(self, info: Callable[[str], object], warning: Callable[[str], object]) -> None:
        super().__init__(logging.INFO)
        self._info, self._warning = info, warning

    def emit(self, record: logging.LogRecord) -> None:
        """Give the text to the function of its level."""
        if record.levelno >= logging.WARNING:  # rclpy allows one severity for a line of code
            self._warning(record.getMessage())
        else:
            self._info(record.getMessage())


class CompilationError(RobodynError):
    """The C compiler failed; the message ends with its output."""


class CacheError(RobodynError):
    """The cache folder cannot be trusted or written to; the message names the remedy."""


class Wanted(NamedTuple):
    """A library that a kernel asked for: the arguments of :func:`make_library`."""

    name: str
    key: str
    source: Callable[[], str]


_lists: list[list[Wanted]] = []
"""Lists of :func:`only_listed`, the innermost last."""


def is_listing() -> bool:
    """Return whether libraries are only listed now (:func:`only_listed`)."""
    return bool(_lists)


@contextmanager
def only_listed() -> Iterator[list[Wanted]]:
    """Context in which libraries are only listed, not found or compiled; CasADi's virtual machine does the work."""
    _lists.append([])
    try:
        yield _lists[-1]
    finally:
        _lists.pop()


def make_library(name: str, key: str, source: Callable[[], str]) -> Path | None:
    """The library of a name and key, or None where there is none and there is nothing to make one with.

    Without a compiler, or without CasADi, a library that another compiler made for this processor serves as well.

    Args:
        name: of the function in it.
        key: tells functions of that name apart.
        source: writes the code; called only when there is nothing in the cache.

    Raises:
        CacheError: the cache cannot be used.
        CompilationError: the compiler failed.
        OSError: the library cannot be written.
    """
    found = begin_library(name, key, source, is_urgent=True)
    return found.wait() if isinstance(found, Build) else found


def start_library(name: str, key: str, source: Callable[[], str]) -> None:
    """Start to compile a library in the background, if the cache has none; :func:`loaded` waits for it.

    The source is written now, because CasADi must not be used in two threads. :func:`loaded` reports errors.

    Args:
        name: of the function in it.
        key: tells functions of that name apart.
        source: writes the code.
    """
    if _lists:
        _lists[-1].append(Wanted(name, key, source))
        return
    with contextlib.suppress(CacheError, CompilationError, OSError):
        if find_compiler() is not None and has_casadi():
            begin_library(name, key, source)


def begin_library(name: str, key: str, source: Callable[[], str], is_urgent: bool = False) -> Path | Build | None:
    """As :func:`make_library`, but a compilation runs in the background: its :class:`Build` is returned.

    Args:
        name: of the function in it.
        key: tells functions of that name apart.
        source: writes the code, now.
        is_urgent: begin at once, whatever else is being compiled.

    Raises:
        CacheError: the cache cannot be used.
        CompilationError: ``CC`` is not a command.
        OSError: a library of the same code cannot be linked.
    """
    stem = f"{name}-{key}-{_short(processor())}"
    compiler = find_compiler()
    folder = cache_folder()
    if compiler is None or not has_casadi():
        return _any_of_its_kind(folder, stem)
    toolchain = _short(compiler.identity + _casadi_version())
    place = folder, f"{stem}-{toolchain}"
    build = _builds.get(place) or _lookup(*place)
    if build is not None:
        return build
    code = source()
    code_key, by_code = f"{name}-{_short(code)}-{_short(processor())}-{toolchain}", _own_folder(folder / "code")
    library = _lookup(by_code, code_key)
    if library is not None:
        return _link(*place, library)
    if not any(build.is_alive() for build in _builds.values()):
        Build.begun = Build.known = 0
    Build.known += 1
    made = lambda: _link(*place, _made_once(by_code, code_key, lambda: compiler.compile(code)))  # noqa: E731
    build = _builds[place] = Build(name, made, is_urgent)
    build.start()
    return build


class Build(threading.Thread):
    """A library that is being made.

    Attributes:
        running: admits one build that nobody waits for on each processor; the others wait.
        begun: number of builds of the present series that have begun.
        known: number of its builds that have been requested.
        seconds: duration [s].
    """

    begun = known = 0
    running = threading.BoundedSemaphore(len(os.sched_getaffinity(0)))

    def __init__(self, name: str, make: Callable[[], Path], is_urgent: bool) -> None:
        """
        Args:
            name: of the library.
            make: compiles and stores it.
            is_urgent: somebody waits for it, so it begins at once.
        """
        super().__init__(name=f"robodyn compiles {name}")
        self._library, self._make, self._is_urgent = name, make, is_urgent
        self._outcome: Path | Exception
        self.seconds = 0.0

    def run(self) -> None:
        """Compile and store it, in a thread of its own."""
        with contextlib.nullcontext() if self._is_urgent else self.running:
            Build.begun += 1
            log.info("compiling %s for this arm (%d of %d)", self._library, Build.begun, Build.known)
            begin = perf_counter()
            try:
                self._outcome = self._make()
            except Exception as cause:  # for the thread that waits
                self._outcome = cause
            self.seconds = perf_counter() - begin

    def wait(self) -> Path:
        """The library, when it is there.

        Raises:
            CompilationError: the compiler failed.
            OSError: the library cannot be written.
        """
        self.join()
        for place in [place for place, build in list(_builds.items()) if build is self]:
            _builds.pop(place, None)  # another thread may wait for it too
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


_builds: dict[tuple[Path, str], Build] = {}
"""Folder and key → a build whose library has not been fetched yet."""


def _leave_builds() -> None:
    """Forget the builds in a forked process: their threads run in the parent."""
    _builds.clear()
    Build.running = threading.BoundedSemaphore(len(os.sched_getaffinity(0)))


os.register_at_fork(after_in_child=_leave_builds)


def cache_folder() -> Path:
    """The folder for compiled arms, made if need be: ``$XDG_CACHE_HOME/robodyn_ros``, else ``~/.cache/robodyn_ros``.

    Raises:
        CacheError: it cannot be made, belongs to somebody else, or others may write to it.
    """
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The XDG base directory specification: a relative path is invalid and to be ignored.
        base = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
    except RuntimeError as cause:  # the user has no home
        raise _cannot_be_made(cause) from cause
    return _own_folder(base / "robodyn_ros")


def _own_folder(folder: Path) -> Path:
    """A folder that only this user can write to, made if need be.

    Raises:
        CacheError: it cannot be made, belongs to somebody else, or others may write to it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except OSError as cause:
        raise _cannot_be_made(cause) from cause
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = "is not safe to load code from: it must belong to you and be writable by you alone (chmod 700)"
        raise CacheError(f"{folder} {problem}")
    return folder


def _cannot_be_made(cause: Exception) -> CacheError:
    return CacheError(f"the cache folder cannot be made: {cause}; set XDG_CACHE_HOME to a folder of yours")


def _lookup(folder: Path, key: str) -> Path | None:
    """The library stored under a key, or None if there is none that is whole and safe."""
    library = folder / f"{key}.so"
    try:
        with _opened(library):
            return library
    except (OSError, CacheError):
        return None


def load_library(library: Path, kind: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL:
    """Load a library of the cache into this process.

    Args:
        library: found or made by the functions of this module.
        kind: of ctypes, ``CDLL`` or ``PyDLL``.

    Raises:
        CacheError: it is not whole and safe any more, or the system does not load it.
        OSError: it cannot be opened.
    """
    with _opened(library) as descriptor:
        try:
            return kind(_own_name(descriptor) if os.path.isdir(DESCRIPTORS) else str(library))
        except OSError as cause:
            why = str(cause).rpartition(": ")[2]
            remedy = "set XDG_CACHE_HOME to a folder of yours from which programs may run"
            raise CacheError(f"{library} cannot be loaded ({why}); {remedy}") from cause


_loaded: dict[tuple[object, ...], ctypes.CDLL] = {}

SURROUNDINGS = ("XDG_CACHE_HOME", "HOME", "CC", "PATH")
"""Environment variables that decide where libraries are, and which compiler makes them."""


def loaded(name: str, key: str, source: Callable[[], str], kind: type[ctypes.CDLL] = ctypes.CDLL) -> Any:
    """As :func:`load`, but None also where something is wrong with it, which is logged once."""
    try:
        return load(name, key, source, kind)
    except (CacheError, CompilationError, OSError) as cause:
        _say_slow(str(cause))
        return None


def load(name: str, key: str, source: Callable[[], str], kind: type[ctypes.CDLL] = ctypes.CDLL) -> Any:
    """A library, found or made, and loaded once in a process; None where there is none, and nothing to make one with.

    Checking and opening it takes as long as some hundred calls of a small arm's functions.

    Args:
        name: of a function in it.
        key: tells libraries of that name apart.
        source: writes the code.
        kind: of ctypes, ``CDLL`` or ``PyDLL``.

    Raises:
        CacheError: the cache cannot be used, or the system does not load the library.
        CompilationError: the compiler failed.
        OSError: the library cannot be written or opened.
    """
    if _lists:
        _lists[-1].append(Wanted(name, key, source))
        return None
    place = name, key, kind, *map(os.environ.get, SURROUNDINGS)
    if place not in _loaded:
        path = make_library(name, key, source)
        if path is None:  # not remembered: a compiler may be installed later
            return None
        _loaded[place] = load_library(path, kind)
    return _loaded[place]


DESCRIPTORS = "/proc/self/fd"
"""Folder of the open files of this process."""

_names = itertools.count()


def _own_name(descriptor: int) -> str:
    """A path of an open file that no other file has had in this process.

    The number of a descriptor is used again once it is closed, and dlopen gives the library that it has loaded by the
    same path before. So a counter is written into the path, in binary: ``/`` is 0 and ``/.`` is 1.
    """
    digits = f"{next(_names):b}".replace("0", "/").replace("1", "/.")
    return f"{DESCRIPTORS}{digits}/{descriptor}"


@contextmanager
def _opened(library: Path) -> Iterator[int]:
    """The descriptor of a library that is whole and safe, whatever its path leads to meanwhile.

    Raises:
        CacheError: it is not whole, or somebody else can write to it.
        OSError: there is no such file.
    """
    expected = library.with_suffix(".sha256").read_bytes()
    descriptor = os.open(library, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise CacheError(f"{library} is not safe to load code from: it must be yours, and writable by you alone")
        if _checksum(file.read()) != expected:
            raise CacheError(f"{library} has changed since it was put there")
        yield descriptor


@lru_cache(maxsize=8)
def _locks(folder: Path) -> int:
    """Descriptor of a file with a byte to lock for each key; it stays open, because to close it would release them."""
    return os.open(folder / "locks", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


FLOCK = "hhqqi4x"
"""The struct of a lock: its type, three numbers that say where it is, and the process that has it."""


def _made_elsewhere(folder: Path, byte: int) -> int | None:
    """The process that has the lock of a byte; None if this one has it now, or if it cannot be had at all."""
    with contextlib.suppress(OSError):
        locks = _locks(folder)
        try:
            fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
            return int(struct.unpack(FLOCK, fcntl.fcntl(locks, fcntl.F_GETLK, asked))[-1])
    return None


def _made_once(folder: Path, key: str, make: Callable[[], bytes]) -> Path:
    """The library under a key, made now unless another process makes it: then this one waits for it.

    A lock of POSIX ends with its process, and no forked process has it. Threads of two processes may wait for each
    other's, which a lock that blocks takes for a deadlock.
    """
    byte, begin = int(_short(key), 16), perf_counter()
    while (process := _made_elsewhere(folder, byte)) is not None:
        if perf_counter() - begin > PATIENCE:
            say_once(f"waiting for process {process}, which is compiling {key}: if it is stopped, continue or end it")
        sleep(POLL_PERIOD)
    try:
        return _lookup(folder, key) or _store(folder, key, make())
    finally:
        with contextlib.suppress(OSError):
            fcntl.lockf(_locks(folder), fcntl.LOCK_UN, 1, byte)


def _store(folder: Path, key: str, content: bytes) -> Path:
    """Put a library under a key, atomically."""
    # The library first: without its checksum it is a miss, not an error.
    library = _replace(folder / f"{key}.so", content)
    _replace(folder / f"{key}.sha256", _checksum(content))
    return library


def remembered_texts(name: str, key: str, write: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Texts that are generated from expressions: written now and stored in the cache; without CasADi, read from there.

    Args:
        name: of the kind of texts.
        key: changes with everything that they are generated from.
        write: name → text; it needs CasADi.

    Raises:
        NotReadyError: CasADi is not installed, and the cache does not have them.
    """
    try:
        place = cache_folder() / f"{name}-{key}.json"
        if not has_casadi() and place.is_file():
            return dict(json.loads(place.read_text(encoding="utf-8")))
    except (CacheError, OSError, ValueError):
        return write()
    texts = write()
    with contextlib.suppress(OSError):
        _replace(place, json.dumps(texts).encode())
    return texts


def _link(folder: Path, key: str, library: Path) -> Path:
    """Put a stored library under another key as well, atomically; a copy where the file system knows no hard links."""
    try:
        for suffix in (".so", ".sha256"):
            with tempfile.TemporaryDirectory(dir=folder, prefix=f".{key}-") as temporary:
                name = Path(temporary, "link")
                os.link(library.with_suffix(suffix), name)
                os.replace(name, folder / f"{key}{suffix}")
    except OSError:
        return _store(folder, key, library.read_bytes())
    return folder / f"{key}.so"


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


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


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        command: the command that calls it.
        identity: a hash that changes with the compiler and its flags.
    """

    command: tuple[str, ...]
    identity: str

    def compile(self, source: str) -> bytes:
        """Compile C source to the content of a shared library.

        Raises:
            CompilationError: the compiler failed or took too long.
        """
        first, *pages = source.split(PAGE)
        with tempfile.TemporaryDirectory(prefix="robodyn-") as name:
            folder = Path(name)
            texts = [first + page for page in pages] or [first]
            files = [folder / f"code{k}.c" for k in range(len(texts))]
            for file, text in zip(files, texts, strict=True):
                file.write_text(text)
            if pages:
                objects = [file.with_suffix(".o") for file in files]
                with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                    list(pool.map(lambda file, made: self._run([file], made, "-c"), files, objects))
                files = objects
            self._run(files, folder / "code.so", "-shared")
            return (folder / "code.so").read_bytes()

    def _run(self, files: Sequence[Path], made: Path, kind: str) -> None:
        """Make one file of others."""
        command = [*self.command, *FLAGS, kind, *map(str, files), "-o", str(made), *(LINKED if kind != "-c" else ())]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as cause:
            raise CompilationError(f"{shlex.join(self.command)}: {cause}") from cause
        if done.returncode != 0:
            killed, errors = done.returncode < 0, done.stderr[-2000:].strip()
            how = f"was ended by {signal.Signals(-done.returncode).name}" if killed else f"failed: {errors}"
            raise CompilationError(f"{shlex.join(self.command)} {how}")


def find_compiler() -> Compiler | None:
    """The compiler named by ``CC``, else ``cc``, ``gcc`` or ``clang``, or None."""
    return _find(os.environ.get("CC", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=8)
def _find(configured: str, _path: str) -> Compiler | None:
    candidates = [configured] if configured else ["cc", "gcc", "clang"]
    for candidate in candidates:
        try:
            command = shlex.split(candidate)
        except ValueError as cause:
            raise CompilationError(f"CC={candidate!r} is not a command: {cause}") from cause
        executable = shutil.which(command[0]) if command else None
        if executable is not None:
            real = os.path.realpath(executable)
            status = os.stat(real)
            facts = (command, real, status.st_size, status.st_mtime_ns, FLAGS, LINKED)
            return Compiler((executable, *command[1:]), hashlib.sha256(repr(facts).encode()).hexdigest()[:16])
    return None


@lru_cache(maxsize=1)
def processor() -> str:
    """The processor's model and instruction sets, on which code compiled for this very processor depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
    except OSError:
        lines = []
    kept = [line for line in lines if line.split("\t", 1)[0] in {"model name", "flags", "Features", "CPU part"}]
    return "\n".join([platform.machine(), platform.processor(), *kept])


def _any_of_its_kind(folder: Path, stem: str) -> Path | None:
    names, first = _libraries(folder, folder.stat().st_mtime_ns), f"{stem}-"
    for name in itertools.takewhile(lambda name: name.startswith(first), names[bisect_left(names, first) :]):
        found = _lookup(folder, name)
        if found is not None:
            return found
    sought = os.environ.get("CC") or "cc, gcc, clang"
    _say_slow(f"no C compiler found ({sought})" if has_casadi() else f"{stem} is not in the cache")
    return None


@lru_cache(maxsize=1)
def _libraries(folder: Path, changed: int) -> list[str]:
    """Names of the libraries in a folder that was last ``changed`` then [ns], sorted."""
    return sorted(name.removesuffix(".so") for name in os.listdir(folder) if name.endswith(".so"))


def _say_slow(reason: str) -> None:
    here = "running on CasADi's virtual machine, which is slower"
    say_once(f"{reason}: {here if has_casadi() else 'CasADi, which could make it, is not installed'}")


@lru_cache(maxsize=1)
def _casadi_version() -> str:
    try:
        return version("casadi")
    except PackageNotFoundError:  # built from source, or by a distribution: it is there without being listed
        return str(ca.__version__)


@lru_cache(maxsize=16)
def say_once(message: str) -> None:
    """Log a warning the first time it is given."""
    log.warning(message)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
