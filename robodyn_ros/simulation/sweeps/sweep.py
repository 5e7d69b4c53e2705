# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A sweep: a study from its first case to its last, and its results: one row a case, in Parquet.

:func:`sweep` shows all of it. The cases of a study are cut into chunks; a backend (:mod:`.backends`) runs the chunks
that the results do not have yet. Each chunk is written to a part file when it is finished. At the end the parts are
joined in the order of the cases, a few at a time, so that memory never holds all rows. A part file exists only when it
is complete, so a sweep that was interrupted can continue.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from robodyn_ros.errors import InputError, need
from robodyn_ros.files import writing
from robodyn_ros.robot import Array, reload_robot
from robodyn_ros.simulation.sweeps.backends import Backend
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows, chunks
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.trial import QUANTITIES

FILE = "results.parquet"
ABOUT = "study.json"
PARTS = "parts"

GROUP = 2048
"""Rows of a Parquet row group. Each group has metadata, which stay in memory until the end."""


def sweep(
    study: Study,
    folder: Path,
    backend: Backend,
    *,
    resume: bool = False,
    progress: Callable[[int, Rows], object] = lambda before, rows: None,
) -> Path:
    """Run a study.

    Args:
        study: the study.
        folder: folder of the results.
        backend: runs the cases.
        resume: True to continue with the results in the folder.
        progress: called with the number of cases that were there before, and the rows of each finished chunk.

    Returns:
        The file with all rows.

    Raises:
        RobodynError: the study's URDF is wrong, or the folder cannot be written.
    """
    wanted = chunks(study)
    results = Results(folder, study, reload_robot(study.urdf).joint_names, resume)
    missing = results.missing(wanted)
    before = study.size - sum(chunk.size for chunk in missing)
    progress(before, [])
    done: Any = backend(study, missing)
    with closing(done):
        for chunk, rows in done:
            results.store(chunk, rows)
            progress(before, rows)
    results.join(wanted)
    return results.file


class Results:
    """The folder of a study's results.

    Attributes:
        folder: the folder.
    """

    def __init__(self, folder: Path, study: Study, joints: tuple[str, ...], resume: bool = False) -> None:
        """
        Args:
            folder: the folder; it is made if it does not exist.
            study: the study.
            joints: names of the arm's joints.
            resume: True to continue with the results in the folder.

        Raises:
            ConfigurationError: pyarrow is not installed.
            InputError: the folder has results and ``resume`` is False, has results of another study, or cannot be
                written.
        """
        self.folder = folder
        self._parts = folder / PARTS
        self._schema = schema(study, joints)
        about = folder / ABOUT
        if about.exists() or self.file.exists():
            if not resume:
                problem = f"{folder} has results: continue with --resume, or name another by --out"
                raise InputError("folder", problem, folder)
            if _digest(about) != study.digest:
                raise InputError("folder", f"{folder} has results of another study: name another by --out", folder)
        with writing("folder", folder):
            folder.mkdir(parents=True, exist_ok=True)
            if not self.file.exists():
                self._parts.mkdir(exist_ok=True)
            with _replaced(about) as temporary:
                known = {"digest": study.digest, "study": study.name, "cases": study.size}
                temporary.write_text(json.dumps(known), encoding="utf-8")

    @property
    def file(self) -> Path:
        """The file with all rows, after :meth:`join`."""
        return self.folder / FILE

    def missing(self, wanted: list[Chunk]) -> list[Chunk]:
        """Return the chunks that are not stored yet."""
        if self.file.exists():
            return []
        there = {path.name for path in self._parts.iterdir()}
        return [chunk for chunk in wanted if self._part(chunk).name not in there]

    def store(self, chunk: Chunk, rows: Rows) -> None:
        """Store the rows of a chunk."""
        pyarrow = need_pyarrow()
        table = pyarrow.Table.from_pylist(rows, schema=self._schema)
        with _replaced(self._part(chunk)) as temporary:
            pyarrow.parquet.write_table(table, temporary)

    def join(self, wanted: list[Chunk]) -> None:
        """Join the parts to one file."""
        if self.file.exists():
            return
        pyarrow, parquet = need_pyarrow(), need_pyarrow().parquet
        together = GROUP // wanted[0].size  # a chunk is smaller than a group
        with _replaced(self.file) as temporary, parquet.ParquetWriter(temporary, self._schema) as writer:
            for first in range(0, len(wanted), together):
                parts = [parquet.read_table(self._part(chunk)) for chunk in wanted[first : first + together]]
                writer.write_table(pyarrow.concat_tables(parts))
        for chunk in wanted:
            self._part(chunk).unlink()
        self._parts.rmdir()

    def _part(self, chunk: Chunk) -> Path:
        return self._parts / f"{chunk.first:09d}-{chunk.size}.parquet"


def schema(study: Study, joints: tuple[str, ...]) -> Any:
    """Return the columns of the file: inputs of the case, figures of each joint, and judgement of the case."""
    pyarrow = need_pyarrow()
    number, text, switch = pyarrow.float64(), pyarrow.string(), pyarrow.bool_()
    columns = [("case", pyarrow.int64()), ("controller", text), ("seed", pyarrow.int64())]
    kinds = {bool: switch, str: text}
    columns += [(name, kinds.get(type(each.values[0]), number)) for name, each in study.vary.items()]
    columns += [(f"{quantity}/{joint}", number) for quantity in QUANTITIES for joint in joints]
    columns += [("settled", switch), ("margin", number), ("met", switch)]
    columns += [("failed", text), ("failed_at", number), ("compiled", switch)]
    return pyarrow.schema(columns)


def column(file: Path, name: str) -> Array:
    """Return one column of all rows, (cases,)."""
    return need_pyarrow().parquet.read_table(file, columns=[name]).column(0).to_numpy()


def need_pyarrow() -> Any:
    """Import pyarrow, and its module ``parquet``.

    Raises:
        ConfigurationError: it is not installed.
    """
    modules = "pyarrow.parquet", "pyarrow"
    return [need(name, "results in Parquet need pyarrow", "robodyn_ros[sweep]") for name in modules][-1]


def _digest(about: Path) -> str:
    try:
        return str(json.loads(about.read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError):
        return ""


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Another file to write, which then takes the place of a path: that is never half written."""
    temporary = path.with_suffix(".tmp")
    yield temporary
    os.replace(temporary, path)
