"""What the control loop gives for a state, or for the lack of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.answers import Kind
from robodyn_ros.control.base import Efforts, Reference
from robodyn_ros.robot.pose import Array


class Command(NamedTuple):
    """What to send; arrays (n,) in the order of ``robot.joints``."""

    effort: Array  # what to send [N·m] or [N]
    saturated: NDArray[np.bool_]  # where the effort limit or a soft position limit cut it
    rate_limited: NDArray[np.bool_]  # where the rate limit did
    state_age: float  # [s]; since the last usable state, if there is none
    efforts: Efforts | None = None  # the terms of the control law [N·m] or [N]; None in answer to a fault
    reference: Reference | None = None  # what the arm should do; likewise
    error: Array | None = None  # reference position minus position [rad] or [m]; likewise
    fault: Kind | None = None  # what this is the answer to
    problem: str = ""  # what exactly is wrong
    state: tuple[Array, Array] | None = None  # position and velocity that it answers, if there are any
