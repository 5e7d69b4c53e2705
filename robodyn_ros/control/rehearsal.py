"""A rehearsal: a model and a law are made in a process of their own, before they are made for an arm that moves.

What they compile is in the cache afterwards, so that making them again takes milliseconds. A plugin that raises,
contradicts itself, crashes or never comes to an end does so here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from robodyn_ros.control.base import Reference
from robodyn_ros.control.model_check import check_model
from robodyn_ros.errors import NotReadyError, RobodynError

PATIENCE = 120.0
"""How long a rehearsal may take [s]: compiling a long arm for the first time takes some seconds."""


def rehearse(dynamics: str, controller: str, urdf: str) -> None:
    """Make a model and a law in a process of their own, and call them once.

    Args:
        dynamics: name of the plugin.
        controller: likewise.
        urdf: of the arm.

    Raises:
        NotReadyError: that failed; the message says how.
    """
    command = [sys.executable, "-m", "robodyn_ros.control.rehearsal"]
    given = json.dumps({"dynamics": dynamics, "controller": controller, "urdf": urdf})
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as cause:
        raise NotReadyError(f"{controller} on {dynamics} was not made within {PATIENCE:g} s") from cause
    if done.returncode != 0:
        why = done.stdout.strip() or f"the process ended with code {done.returncode}"
        raise NotReadyError(f"{controller} on {dynamics} cannot be made: {why}")


def perform(dynamics: str, controller: str, urdf: str) -> None:
    """Make a model and a law, and call them once.

    Raises:
        Exception: whatever a plugin raises.
    """
    import robodyn_ros as rd

    model: Any = rd.create_dynamics(dynamics, rd.load_robot(urdf))
    check_model(model)
    rest = np.zeros(model.robot.n)
    rd.create_controller(controller, model, 1.0, 1.0).compute(rest, rest, Reference(rest, rest, rest, rest))


def main() -> int:
    """Rehearse what stdin asks for; on failure the reason is on stdout."""
    try:
        perform(**json.load(sys.stdin))
    except Exception as problem:  # of a plugin, whatever it is
        kind = "" if isinstance(problem, RobodynError) else f"{type(problem).__name__}: "
        print(f"{kind}{problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
