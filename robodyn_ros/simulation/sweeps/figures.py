"""What a trial was worth: figures of every joint."""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.sweeps.specification import QUANTITIES
from robodyn_ros.simulation.trial import Trial


def figures(trial: Trial, effort_limit: Array, window: float) -> dict[str, Array]:
    """The quantities of :mod:`.specification` by name, (n,) each; NaN where nothing was commanded.

    Args:
        trial: what happened.
        effort_limit: of the commands, (n,) in [N·m] or [N].
        window: the last moments [s].
    """
    commands, truth = trial.commands, trial.truth
    n = len(effort_limit)
    found = {name: np.full(n, np.nan) for name in QUANTITIES}
    if len(truth.t):
        effort = truth.values["effort"]
        found["rms_effort"], found["peak_effort"] = np.sqrt(np.mean(effort**2, axis=0)), np.abs(effort).max(axis=0)
    known = ~np.isnan(commands.values["q"]).any(axis=1)
    t = commands.t[known]
    if not (len(t) and len(truth.t)):
        return found
    q = truth.values["q"]
    true = np.column_stack([np.interp(t, truth.t, q[:, joint]) for joint in range(n)])
    error = np.abs(commands.values["q"][known] - true)
    found["rms_error"], found["peak_error"] = np.sqrt(np.mean(error**2, axis=0)), error.max(axis=0)
    found["final_error"] = error[t >= t[-1] - window].max(axis=0)
    found["saturated"] = np.mean(np.abs(commands.values["effort"]) >= effort_limit, axis=0)
    return found
