"""Where compiled arms live: a folder that only this user can write to.

An entry is a shared library and, beside it, the SHA-256 of its content. A library is loaded only if the folder belongs
to this user, nobody else can write to it and the checksum fits; anything else is a miss, and the entry is built again.
Entries appear by an atomic rename, so two nodes that start at once cannot see each other's half-written files.

A library has two keys. The first is what its program is made of, our own source files included: it is known at once.
The second is the generated C code: where an edit of a source file leaves the C as it was, nothing is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from robodyn_ros.errors import RobodynError


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
