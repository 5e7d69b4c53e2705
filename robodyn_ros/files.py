# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files that users name: read whole, but never without end."""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 64 * 2**20
"""Greatest size of a description, a parameter file and the like [bytes]."""


def read_bytes(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """The content of a file, or of what a shell has put in its place (``<(…)``, ``/dev/stdin``).

    Args:
        path: of the file.
        most: its greatest size [bytes].

    Raises:
        OSError: it cannot be read, it is larger, or it is no file: a device has no end, and a pipe may never begin.
        ValueError: there is a null character in the path.
    """
    name = os.fspath(path)
    with open(name, "rb", opener=_open_at_once) as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode) and not (stat.S_ISFIFO(mode) and name.startswith(("/dev/", "/proc/self/fd/"))):
            raise OSError(errno.EINVAL, "is not a file", name)
        os.set_blocking(file.fileno(), True)
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than {most // 2**20} MB", name)
    return content


def _open_at_once(name: str, flags: int) -> int:
    """Open without waiting for somebody to write into a pipe."""
    return os.open(name, flags | os.O_NONBLOCK)
