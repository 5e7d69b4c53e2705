"""The steps of a compiled trial that C gives up, one by one, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.control.checks import is_finite
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.plugins import create
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.friction import Friction
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.joints import Joints
from robodyn_ros.simulation.mechanism import CLOSE, REFINEMENTS, Mechanism
from robodyn_ros.simulation.mode import Mode
from robodyn_ros.simulation.motion_loop import MODE, make_frame
from robodyn_ros.simulation.restraint import PIVOTS, ROUNDING
from robodyn_ros.simulation.rig import Rig
from robodyn_ros.simulation.stops import Stops
from robodyn_ros.simulation.trial_memory import Memory

STEPPED = 2
"""The phase of a step that has been made."""


class Events:
    """See the module.

    Attributes:
        frame: state, effort and mode of the plant, and its constants, as the C code takes them.
        failure: why a step could not be made.
        values: what the C code has to know of it, by field.
    """

    def __init__(self, rig: Rig, dynamics: Dynamics) -> None:
        """
        Args:
            rig: what the hardware is made of.
            dynamics: of its arm.
        """
        robot = rig.robot
        joints = Joints(Friction(rig.friction, robot.n), Stops(robot, rig.stops), robot.velocity_limit)
        self.integrator: Integrator = create("integrators", rig.integrator)
        self.mechanism = Mechanism(dynamics, joints, self.integrator)
        self.frame = make_frame(joints)
        self.frame[:2] = self.mechanism.settled(np.array(rig.start, dtype=np.float64), np.zeros(robot.n))
        self.failure: Exception | None = None
        self.values: dict[str, Any] = {
            "frame": self.frame,
            "hold_limit": joints.friction.static,
            "restitution": joints.stops.restitution,
            "rounding": ROUNDING,
            "pivots": PIVOTS,
            "refinements": REFINEMENTS,
            "close": CLOSE,
        }

    def resolve(self, memory: Memory) -> bool:
        """Find the mode that applies, or make the step in which it ends; whether that could be done."""
        q, qd, effort = self.frame[:3].copy()
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                if not memory.known:
                    self.frame[MODE], memory.known = self.mechanism.modes.at(q, qd, effort), 1
                    return True
                state = self.mechanism.advance(q, qd, effort, memory.step)
            except (InputError, SimulationError) as cause:
                self.failure = cause
                return False
        return self._take(memory, *state)

    def _take(self, memory: Memory, q: Array, qd: Array, mode: Mode | None) -> bool:
        if not (is_finite(q) and is_finite(qd)):
            return False
        self.frame[0], self.frame[1] = q, qd
        memory.known, memory.phase = int(mode is not None), STEPPED
        if mode is not None:
            self.frame[MODE] = mode
        return True
