# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compressed recordings, unpacked within a limit: 200 kB of a bag may unpack to many gigabytes.

rosbags unpacks whole files into the temporary folder, and chunks and messages into memory, at their declared size.
Within :func:`within_limit` it uses the functions of this module, which share one budget of bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO, Any

from robodyn_ros.errors import RobodynError

LARGEST = 2_000_000_000
"""Greatest unpacked size of a recording [bytes]; an hour of a large arm at 1 kHz."""


class UnpackingError(RobodynError):
    """A recording unpacks to more than the limit."""


class _Budget:
    """Counts the unpacked bytes."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def read(self, file: IO[bytes], size: int = -1) -> bytes:
        """Read unpacked bytes, all of them unless a size is given.

        Raises:
            UnpackingError: they exceed the rest of the budget.
        """
        wanted = self._left + 1 if size < 0 else min(size, self._left + 1)
        content = file.read(wanted)
        self._left -= len(content)
        if self._left < 0:
            raise UnpackingError(f"unpacks to more than {self._most / 1e9:.3g} GB, the most that is read")
        return content


class _Packed:
    """A compressed file as rosbags opens and copies it."""

    def __init__(self, file: Any, budget: _Budget) -> None:
        self._file, self._budget = file, budget

    def __enter__(self) -> _Packed:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        return self._budget.read(self._file, size)


class _Zstandard:
    """A replacement for the module with which rosbags unpacks."""

    def __init__(self, module: Any, budget: _Budget) -> None:
        self._module, self._budget = module, budget

    def open(self, file: Any, mode: str) -> _Packed:
        return _Packed(self._module.open(file, mode), self._budget)

    def decompress(self, data: bytes) -> bytes:
        with self._module.open(BytesIO(data), "rb") as file:
            return self._budget.read(file)


@contextmanager
def within_limit() -> Iterator[None]:
    """Within this context rosbags raises UnpackingError if it unpacks more than :data:`LARGEST`."""
    from lz4 import frame  # type: ignore[import-untyped]
    from rosbags.rosbag2 import reader, storage_mcap

    budget, modules = _Budget(LARGEST), (reader, storage_mcap)
    before, kept = [module.zstd for module in modules], storage_mcap.lz4_decompress

    def lz4(data: bytes) -> bytes:
        with frame.open(BytesIO(data), "rb") as file:
            return budget.read(file)

    for module in modules:
        module.zstd = _Zstandard(module.zstd, budget)
    storage_mcap.lz4_decompress = lz4
    try:
        yield
    finally:
        for module, own in zip(modules, before, strict=True):
            module.zstd = own
        storage_mcap.lz4_decompress = kept
