"""A study from its first case to its last: what is missing is tried, kept, and put together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from robodyn_ros.robot import load_robot
from robodyn_ros.simulation.sweeps.backends import Backend
from robodyn_ros.simulation.sweeps.chunk import Rows, chunks
from robodyn_ros.simulation.sweeps.results import Results
from robodyn_ros.simulation.sweeps.study import Study


def sweep(
    study: Study,
    folder: Path,
    backend: Backend,
    *,
    resume: bool = False,
    told: Callable[[int, Rows], object] = lambda before, rows: None,
) -> Path:
    """Run a study.

    Args:
        study: what to run.
        folder: for the results.
        backend: who tries the cases.
        resume: whether to go on with what is in the folder.
        told: is told how many cases were there before, and the rows that have come, as they come.

    Returns:
        The file with all rows.

    Raises:
        RobodynError: the study's arm is none, or the folder is not to be written to.
    """
    wanted = chunks(study)
    results = Results(folder, study, load_robot(study.urdf).joint_names, resume)
    missing = results.missing(wanted)
    before = study.size - sum(chunk.size for chunk in missing)
    told(before, [])
    done: Any = backend(study, missing)
    with closing(done):
        for chunk, rows in done:
            results.store(chunk, rows)
            told(before, rows)
    results.join(wanted)
    return results.file
