"""Soft position limits: near the end of its way, a joint is not pushed harder towards it than a hold there would.

With d the distance to the hard limit, within ``margin`` of it and in its direction::

    τ ≤ g(q) + K d - D q̇,   d = max(0, limit - q)      (mirrored at the lower limit)

The right-hand side is what holding the arm exactly at the limit would give. So it never takes from the weight that is
carried, nor from a hold inside the limits or at one. What it takes away is all that drives the joint faster towards
its stop: the velocity there fades as exp(-ωt) with a well damped joint, and at the limit nothing pushes outwards any
more. From outside no force drives the joint back, so that an arm found beyond a limit can be led back in peace.

Compare the soft limits of ROS's joint_limits_interface (velocity bounds that fade with the distance, efforts that fade
with the velocity); those do not know the arm's weight, and let a loaded joint drop away from its upper limit.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.answers import Feedback
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


def soften(
    effort: Array, q: Array, qd: Array, gravity: Array, robot: Robot, feedback: Feedback, margin: float
) -> Array:
    """Efforts (n,) that keep the law of the module.

    Args:
        effort: wanted, (n,) in [N·m] or [N].
        q: position (n,).
        qd: velocity (n,).
        gravity: efforts that carry the arm, (n,).
        robot: whose limits.
        feedback: K and D.
        margin: how far before a limit the law begins [rad] or [m].
    """
    ends = zip(q.tolist(), robot.lower.tolist(), robot.upper.tolist(), strict=True)
    if all(x - lower >= margin and upper - x >= margin for x, lower, upper in ends):  # as nearly always
        return effort
    above, below = robot.upper - q, q - robot.lower
    still = gravity - feedback.damping * qd
    most = np.where(above < margin, still + feedback.stiffness * np.clip(above, 0.0, margin), np.inf)
    least = np.where(below < margin, still - feedback.stiffness * np.clip(below, 0.0, margin), -np.inf)
    return np.minimum(np.maximum(effort, least), most)
