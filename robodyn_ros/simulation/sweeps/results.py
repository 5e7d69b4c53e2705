"""The results of a study: one row a case, in Parquet.

They are written in parts as they come, and put together in the order of the cases at the end, part by part: nobody
ever holds them all. A part is there whole or not at all, so that what was done before an interruption is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows
from robodyn_ros.simulation.sweeps.study import QUANTITIES, Study

FILE = "results.parquet"
ABOUT = "study.json"
PARTS = "parts"

GROUP = 2048
"""Rows that are written at once: each such group has a description of its own, which stays in memory until the end."""


class Results:
    """The folder of a study's results.

    Attributes:
        folder: where they are.
    """

    def __init__(self, folder: Path, study: Study, joints: tuple[str, ...], resume: bool = False) -> None:
        """
        Args:
            folder: made if need be.
            study: whose results they are.
            joints: of the arm.
            resume: whether to go on with what is there.

        Raises:
            ConfigurationError: pyarrow is not installed.
            InputError: there are results that nobody asked to go on with, or of another study; or no folder can be
                made.
        """
        self.folder = folder
        self._parts = folder / PARTS
        self._schema = schema(study, joints)
        about = folder / ABOUT
        if about.exists() or (folder / FILE).exists():
            known = _digest(about)
            if not resume:
                raise InputError(
                    "folder", f"{folder} has results: go on with --resume, or name another by --out", folder
                )
            if known != study.digest:
                raise InputError("folder", f"{folder} has results of another study: name another by --out", folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not self.file.exists():
                self._parts.mkdir(exist_ok=True)
            _replace(about, json.dumps({"digest": study.digest, "study": study.name, "cases": study.size}).encode())
        except OSError as cause:
            raise InputError("folder", f"{folder} cannot be written: {cause.strerror}", folder) from cause

    @property
    def file(self) -> Path:
        """All rows, once they are together."""
        return self.folder / FILE

    def missing(self, wanted: list[Chunk]) -> list[Chunk]:
        """Those that are not there yet."""
        if self.file.exists():
            return []
        there = {path.name for path in self._parts.iterdir()}
        return [chunk for chunk in wanted if self._part(chunk).name not in there]

    def store(self, chunk: Chunk, rows: Rows) -> None:
        """Keep the rows of a chunk."""
        pyarrow = need()
        from pyarrow import parquet

        table = pyarrow.Table.from_pylist(rows, schema=self._schema)
        part = self._part(chunk)
        temporary = part.with_suffix(".tmp")
        parquet.write_table(table, temporary)
        os.replace(temporary, part)

    def join(self, wanted: list[Chunk]) -> None:
        """Put the parts together."""
        pyarrow = need()
        from pyarrow import parquet

        if self.file.exists():
            return
        temporary = self.file.with_suffix(".tmp")
        together = max(1, GROUP // wanted[0].size)
        with parquet.ParquetWriter(temporary, self._schema) as writer:
            for first in range(0, len(wanted), together):
                parts = [parquet.read_table(self._part(chunk)) for chunk in wanted[first : first + together]]
                writer.write_table(pyarrow.concat_tables(parts))
        os.replace(temporary, self.file)
        for chunk in wanted:
            self._part(chunk).unlink()
        self._parts.rmdir()

    def _part(self, chunk: Chunk) -> Path:
        return self._parts / f"{chunk.first:09d}-{chunk.size}.parquet"


def schema(study: Study, joints: tuple[str, ...]) -> Any:
    """Columns of the file: what the case was, figures of each joint, and what is to be said of it as a whole."""
    pyarrow = need()
    number, text, switch = pyarrow.float64(), pyarrow.string(), pyarrow.bool_()
    columns = [("case", pyarrow.int64()), ("controller", text), ("seed", pyarrow.int64())]
    for name, distribution in study.vary.items():
        first = distribution.values[0]
        columns.append((name, switch if isinstance(first, bool) else number if distribution.is_number else text))
    columns += [(f"{quantity}/{joint}", number) for quantity in QUANTITIES for joint in joints]
    columns += [("settled", switch), ("margin", number), ("met", switch)]
    columns += [("failed", text), ("failed_at", number), ("compiled", switch)]
    return pyarrow.schema(columns)


def column(file: Path, name: str) -> Array:
    """One column of all rows, (cases,)."""
    need()
    from pyarrow import parquet

    values: Array = parquet.read_table(file, columns=[name]).column(0).to_numpy()
    return values


def rows(file: Path, numbers: list[int]) -> Iterator[dict[str, Any]]:
    """Some rows, by the number of the case."""
    need()
    from pyarrow import parquet

    wanted = set(numbers)
    with parquet.ParquetFile(file) as content:
        for batch in content.iter_batches():
            cases = batch.column("case").to_pylist()
            yield from (batch.slice(i, 1).to_pylist()[0] for i, case in enumerate(cases) if case in wanted)


def need() -> ModuleType:
    """Pyarrow.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        import pyarrow
    except ImportError as cause:
        raise ConfigurationError("results in Parquet need pyarrow: pip install 'robodyn_ros[sweep]'") from cause
    return pyarrow  # type: ignore[no-any-return]


def _digest(about: Path) -> str:
    try:
        return str(json.loads(about.read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError):
        return ""


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)
