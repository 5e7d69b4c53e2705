"""What may change while the arm moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.control.answers import Answers, Feedback
from robodyn_ros.control.base import Controller
from robodyn_ros.control.following import Tolerances
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.loop_config import LoopConfig


class Tuning(NamedTuple):
    """All that a loop works by; swapped as a whole between two updates."""

    controller: Controller
    limits: Limits
    feedback: Feedback  # of the answers to faults, and of the soft limits
    tolerances: Tolerances  # of trajectories that bring none of their own
    config: LoopConfig = LoopConfig()
    answers: Answers = Answers()


def own_feedback(controller: Controller) -> Feedback:
    """A law's gains as those of the answers: where they are accelerations, times the inertia felt in the home pose."""
    robot = controller.dynamics.robot
    felt = np.ones(robot.n)
    if controller.feedback == "acceleration":
        felt = np.diagonal(controller.dynamics.mass_matrix(robot.home))
    return Feedback(felt * controller.kp, felt * controller.kd)
