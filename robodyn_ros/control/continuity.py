"""Whether a state can follow from the one before: encoders that lose count, and wires that swap, make it jump."""

from __future__ import annotations

from robodyn_ros.errors import JumpError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


class Continuity:
    """Compares each state with the last one, and says whether its velocity explains the way between.

    A state that jumps is refused, and so are those after it until they have been consistent with each other for as long
    as states may be missing; then the arm is taken to be there.
    """

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._robot = robot
        self._good: tuple[float, list[float], list[float]] | None = None
        self._seen: tuple[float, list[float], list[float]] | None = None

    def forget(self) -> None:
        """Take the next state as it comes."""
        self._good = self._seen = None

    def check(self, t: float, q: Array, qd: Array, jump: float, timeout: float) -> None:
        """Take a state in.

        Args:
            t: its time [s].
            q: position (n,).
            qd: velocity (n,).
            jump: greatest change of position that no velocity explains [rad] or [m].
            timeout: states further apart than this are not compared [s].

        Raises:
            JumpError: it does not follow from the last one.
        """
        for before in (self._good, self._seen):
            if before is not None and 0.0 <= t - before[0] <= timeout:
                break
        else:
            before = None
        self._seen = (t, q.tolist(), qd.tolist())
        if before is not None:
            # Plain numbers: for a few joints NumPy takes five times as long.
            dt = t - before[0]
            beyond = [
                abs(new - old) - jump - dt * max(abs(speed), abs(earlier))
                for new, speed, old, earlier in zip(*self._seen[1:], *before[1:], strict=True)
            ]
            if max(beyond) > 0.0:
                joint = beyond.index(max(beyond))
                raise JumpError(self._robot.joints[joint].name, before[1][joint], self._seen[1][joint])
        self._good = self._seen
