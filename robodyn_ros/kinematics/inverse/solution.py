"""What a search for joint positions came to."""

from __future__ import annotations

from typing import Literal, NamedTuple

from robodyn_ros.robot.pose import Array

Outcome = Literal["converged", "beyond_reach", "limits", "not_found"]
"""``beyond_reach``: farther away than the arm is long, which is certain. ``limits``: found only when the position
limits are ignored. ``not_found``: no start led there; a solution may exist all the same, but is unlikely with many
starts.
"""


class Solution(NamedTuple):
    """The best that was found."""

    q: Array  # (n,) in [rad] or [m]; where the search came closest, if it did not converge
    converged: bool
    outcome: Outcome
    reason: str  # the outcome as a sentence, with numbers
    position_error: float  # of what counts in the task [m]
    rotation_error: float  # likewise [rad]
    iterations: int  # steps from all starts together
    starts: int  # how many were tried
