"""Where a plan begins: where the arm stands, and still stands when it is sent."""

from __future__ import annotations

import numpy as np

from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.watch import Watch
from robodyn_ros.planning.plan import Plan
from robodyn_ros.robot.pose import Array

STANDS = 0.02
"""An arm of which no joint is faster stands [rad/s] or [m/s]."""

NEAR = 0.02
"""So far the arm may be from where a plan begins [rad] or [m]."""


def standing_at(watch: Watch) -> Array:
    """Where the arm stands: its reference as far as that is known, else its position, (n,) in [rad] or [m].

    Raises:
        NotReadyError: nothing is known of it yet, or it moves.
    """
    if watch.q is None:
        raise NotReadyError("no joint states have come yet")
    fast = np.abs(watch.qd)
    if (fast > STANDS).any():
        joint = int(np.argmax(fast))
        name = watch.robot.joint_names[joint]
        raise NotReadyError(f"the arm moves: joint {name!r} by {watch.qd[joint]:.3g} per s; a plan begins at rest")
    reference = watch.reference
    return np.array(watch.q if reference is None or (np.abs(reference - watch.q) > NEAR).any() else reference)


def check_there(watch: Watch, plan: Plan) -> None:
    """See that the arm is where a plan begins.

    Raises:
        NotReadyError: it is elsewhere, or moves.
    """
    away = np.abs(standing_at(watch) - plan.q[0])
    if (away > NEAR).any():
        joint = int(np.argmax(away))
        raise NotReadyError(
            f"the arm is not where the plan begins: joint {plan.joints[joint]!r} is {away[joint]:.3g} away"
        )
