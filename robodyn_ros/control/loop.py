"""The control loop: all that a controller node decides, without ROS.

Each state of the arm gets one command or one refusal (an error), never a guess:

- A state that is too old, from the future, not finite or of the wrong shape gives no command.
- The first reference is where the arm is. It starts there again whenever the flow of states was broken: its time ran
  backwards (a simulator restarted, a clock was set) or paused for longer than ``state_timeout`` (a driver restarted, a
  cable was pulled). What was being followed or tracked is dropped then, for the arm is no longer where that left it.
- What the arm is to do, :mod:`robodyn_ros.control.guide` decides; what it takes, the controller.
- Efforts are clamped to the effort limit; efforts that are not numbers are an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.control.base import Controller, Efforts, Reference
from robodyn_ros.control.checks import finite_array, is_finite
from robodyn_ros.control.guide import Guide
from robodyn_ros.control.limits import saturate
from robodyn_ros.control.reference import Mode
from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.errors import EffortError, InputError, StaleStateError
from robodyn_ros.robot.pose import Array, read_only


@dataclass(frozen=True)
class LoopConfig:
    """Settings of the loop; each field's metadata say what it is."""

    state_timeout: float = setting(0.1, "greatest age of a joint state that still gets a command", "s", 1e-3, 10.0)
    reference_timeout: float = setting(0.5, "longest wait for the next streamed reference", "s", 1e-3, 10.0)

    def __post_init__(self) -> None:
        check_settings(self)


class Command(NamedTuple):
    """The answer to a state; arrays (n,) in the order of ``robot.joints``."""

    efforts: Efforts  # the terms of the control law, not clamped [N·m] or [N]
    effort: Array  # what to send: their total, clamped [N·m] or [N]
    saturated: NDArray[np.bool_]  # where it was clamped
    reference: Reference  # what the arm should do
    error: Array  # reference position minus position [rad] or [m]
    state_age: float  # [s]


class ControlLoop:
    """See the module.

    Attributes:
        controller: the control law; may be replaced between two updates.
        config: the settings; likewise.
        effort_limit: (n,) in [N·m] or [N].
        restarts: how often the flow of states was broken, so that the loop had to start again where the arm was.
    """

    def __init__(self, controller: Controller, effort_limit: ArrayLike, config: LoopConfig | None = None) -> None:
        """
        Args:
            controller: the control law; called once, so that what it compiles on first use is ready.
            effort_limit: (n,), not negative, in [N·m] or [N]; inf where there is none.
            config: settings, the defaults unless given.

        Raises:
            InputError: an effort limit of the wrong shape, negative or NaN.
        """
        robot = controller.dynamics.robot
        self.effort_limit = read_only(effort_limit)
        if self.effort_limit.shape != (robot.n,) or not (self.effort_limit >= 0.0).all():
            raise InputError("effort_limit", f"must be {robot.n} numbers from 0 up, not {effort_limit!r}", effort_limit)
        self.controller = controller
        self.config = config or LoopConfig()
        self.restarts = 0
        self._shape = (robot.n,)
        self._guide = Guide(robot)
        rest = np.zeros(robot.n)
        controller.compute(rest, rest, Reference(rest, rest, rest, rest))

    @property
    def mode(self) -> Mode:
        """``waiting`` (for the first state), ``hold``, ``follow`` or ``track``."""
        return self._guide.mode

    def start(self, t: float, q: ArrayLike) -> None:
        """Hold where the arm is, and forget everything else; the first update does it by itself.

        Args:
            t: time of the state [s].
            q: where the arm is, (n,) in [rad] or [m].

        Raises:
            InputError: q is not n finite numbers.
        """
        self._guide.start(t, finite_array("q", q, self._shape))

    def stop(self) -> None:
        """Forget everything, and wait for a first state again."""
        self._guide.stop()

    def hold(self, t: float, q: ArrayLike | None = None) -> None:
        """Stop at once, and stay.

        Args:
            t: time [s].
            q: where, (n,) in [rad] or [m]; at the position of the present reference unless given.

        Raises:
            NotReadyError: no state has come yet.
            InputError: q is not n finite numbers, or outside the position limits.
        """
        self._guide.hold(t, q)

    def follow(self, trajectory: Trajectory, t_start: float | None = None, joints: Sequence[str] | None = None) -> None:
        """Follow a trajectory.

        Args:
            trajectory: of the joints named.
            t_start: when its time is 0 [s], now unless given; of one that has begun already, the rest is followed.
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.

        Raises:
            NotReadyError: no state has come yet.
            InputError: unknown, repeated or too few names; a trajectory that is over; a start that is not finite.
            LimitError: the trajectory leaves the position limits, at a point or between two.
        """
        self._guide.follow(trajectory, t_start, joints)

    def track(self, reference: Reference, t: float, joints: Sequence[str] | None = None) -> None:
        """Keep to a streamed reference until the next one, for ``reference_timeout`` at most.

        Args:
            reference: of the joints named, each (m,).
            t: when it came [s].
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.

        Raises:
            NotReadyError: no state has come yet.
            InputError: unknown, repeated or too few names, wrong shapes, something not finite.
            LimitError: its position is outside the limits.
        """
        self._guide.track(reference, t + self.config.reference_timeout, joints)

    def update(self, t: float, now: float, q: ArrayLike, qd: ArrayLike) -> Command:
        """The command for a state.

        Args:
            t: when the state was measured [s].
            now: the time now, by the same clock [s].
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].

        Raises:
            StaleStateError: the state is too old, or from the future.
            InputError: it is not n finite numbers each.
            EffortError: the control law gave efforts that are not numbers.
        """
        age = now - t
        if not abs(age) <= self.config.state_timeout:
            raise StaleStateError(age, self.config.state_timeout)
        q, qd = finite_array("q", q, self._shape), finite_array("qd", qd, self._shape)
        guide = self._guide
        if not 0.0 <= t - guide.time <= self.config.state_timeout:
            self.restarts += guide.mode != "waiting"
            guide.start(t, q)
        reference = guide.reference(t, q)
        efforts = self.controller.compute(q, qd, reference)
        if not is_finite(efforts.total):
            raise EffortError(f"{type(self.controller).__name__} gave {efforts.total} at q = {q}, qd = {qd}")
        effort, saturated = saturate(efforts.total, self.effort_limit)
        return Command(efforts, effort, saturated, reference, reference.q - q, age)
