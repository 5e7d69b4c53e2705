"""The procedure: states in, efforts out, findings in the end.

It begins with the arm at rest without effort: lying on its stops, hanging, or supported; before the signs are known
nothing else could hold it. Then, joint by joint,

1. a push: an effort on this joint alone that grows until it moves a little, in both directions (:mod:`.push`);
2. a stroke: slowly there and back under control; the mean of the efforts is gravity, half their difference friction,
   and a shake on the way shows inertia (:mod:`.stroke`);

from the tip to the base, so that the joints beyond, whose signs are known by then, can be damped meanwhile; and, if all
joints are right, gravity compensation from nothing to all of it in steps.

Whatever goes wrong (a joint too fast or too far, states that stay away, an interruption) ends it the same way: efforts
go back in ``retreat_time`` to nothing, which is what held the arm in the beginning, with damping where the sign is
known; never at once.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.checks import finite_array
from robodyn_ros.control.commissioning.findings import (
    CommissioningOutcome,
    CommissioningSettings,
    GravityStep,
    JointFindings,
)
from robodyn_ros.control.commissioning.moves import Moves, Script
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.robot.pose import Array


class Commissioning:
    """See the module.

    Attributes:
        config: the settings.
        outcome: what has been found.
        stage: what is being done, in words.
        finished: whether it is over, and nothing but zero effort will come.
        question: what waits for an answer by ``answer``; None if nothing does.
    """

    def __init__(self, dynamics: Dynamics, config: CommissioningSettings | None = None, guided: bool = False) -> None:
        """
        Args:
            dynamics: the arm's model; each joint has an effort limit.
            config: settings, the defaults unless given.
            guided: whether to ask before each joint, and whether it went its positive way.

        Raises:
            ConfigurationError: a joint has no effort limit, or none above 0.
        """
        robot = dynamics.robot
        for joint in robot.joints:
            if not 0.0 < joint.effort < np.inf:
                raise ConfigurationError(f"joint {joint.name!r}: needs an effort limit above 0 in the URDF")
        self.config = config or CommissioningSettings()
        self.outcome = CommissioningOutcome(robot.name, drift_allowed=self.config.drift)
        self.stage, self.finished = "watching the arm at rest", False
        self.question: str | None = None
        self._answer: bool | None = None
        self._robot, self._guided = robot, guided
        self._arm = Moves(dynamics, self.config)
        self._start: Array | None = None
        self._script = self._play()

    def update(self, t: float, q: Array, qd: Array) -> Array:
        """The efforts (n,) in [N·m] or [N] for a state.

        Args:
            t: its time [s].
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,).

        Raises:
            InputError: q or qd is not n finite numbers.
        """
        arm, shape = self._arm, (self._robot.n,)
        arm.t, arm.q, arm.qd = t, finite_array("q", q, shape), finite_array("qd", qd, shape)
        if self._start is None:
            self._start = arm.q.copy()
        self._guard(self._start)
        effort = next(self._script, None)
        self.finished = effort is None
        wanted = np.zeros(shape) if effort is None else effort
        arm.effort = np.clip(wanted, -self._robot.effort_limit, self._robot.effort_limit)
        return arm.effort

    def answer(self, yes: bool) -> None:
        """Answer the question."""
        self._answer, self.question = yes, None

    def stop(self, why: str) -> None:
        """End it: the efforts go back to nothing, in their time."""
        if not (self.outcome.stopped or self.finished):
            self.outcome.stopped, self.question, self.stage = why, None, "letting go"
            self._arm.damping = self._arm.proven.copy()  # of a joint whose sign is in doubt it might drive the arm
            self._script = self._arm.retreat()

    def _guard(self, start: Array) -> None:
        config, names = self.config, self._robot.joint_names
        far, fast = np.abs(self._arm.q - start), np.abs(self._arm.qd)
        if (fast > config.overspeed).any():
            name = names[int(fast.argmax())]
            self.stop(f"{name} moves at {fast.max():.3g} rad/s or m/s, more than {config.overspeed:g} ({self.stage})")
        elif (far > config.reach).any():
            name = names[int(far.argmax())]
            self.stop(f"{name} is {far.max():.3g} rad or m from its start, more than {config.reach:g} ({self.stage})")

    def _play(self) -> Script[None]:
        yield from self._rest()
        for index in reversed(range(self._robot.n)):
            yield from self._joint(index)
        if any(joint.problems for joint in self.outcome.joints):
            self.stop("gravity was not compensated, for not every joint is right")
            yield self._arm.wait()
        yield from self._gravity()
        self.stage = "letting go"
        yield from self._arm.retreat()

    def _rest(self) -> Script[None]:
        arm = self._arm
        end, start = arm.t + self.config.rest_time, arm.q
        while arm.t < end:
            yield arm.wait()
            moved = np.abs(arm.q - start)
            if moved.max() > 2.0 * self.config.onset:
                name = self._robot.joint_names[int(moved.argmax())]
                self.stop(f"{name} moves without effort: begin where the arm lies, hangs or is supported")

    def _joint(self, index: int) -> Script[None]:
        arm, joint, config = self._arm, self._robot.joints[index], self.config
        found = JointFindings(joint.name, joint.effort_unit, joint.effort)
        found.inertia_tolerance, found.gravity_tolerance = config.inertia_tolerance, config.gravity_tolerance
        task = f"pushing with up to {arm.greatest(index):.3g} {joint.effort_unit}"
        if self._guided and not (yield from self._ask(f"{joint.name}: {task}. Is everybody clear?")):
            self.stop("stopped by the one who watches")
            yield arm.wait()
        self.stage = f"{joint.name}: {task}"
        self.outcome.joints.append(found)
        pushes = []
        for direction in (1, -1):
            push = yield from arm.push(index, direction, found)
            yield from self._settled()
            arm.damping[index] = 0.0
            pushes.append(push)
        loose = [push for push in pushes if np.isfinite(push.inertia)]
        found.moved, found.follows = bool(loose), bool(loose) and all(push.follows for push in loose)
        found.pushed = True
        if not loose:
            return
        self.stage = f"{joint.name}: slowly there and back"
        yield from arm.stroke(index, loose[0], found)
        arm.damping[index] = arm.proven[index] = arm.damper(loose[0])
        yield from self._settled()
        if self._guided and found.follows:
            way = " ".join(f"{value:.3g}" for value in joint.axis)
            turn = "along" if joint.is_prismatic else "by the right hand about"
            ahead = "positive" if loose[0].moved > 0.0 else "negative"
            found.seen = yield from self._ask(f"Did {joint.name} go first in its {ahead} direction, {turn} {way}?")

    def _ask(self, question: str) -> Script[bool]:
        self.question, self._answer = question, None
        while (said := self._heard()) is None:
            yield self._arm.wait()
        return said

    def _heard(self) -> bool | None:
        return self._answer

    def _settled(self) -> Script[None]:
        if not (yield from self._arm.settle()):
            self.stop("the arm does not come to rest")
            yield self._arm.wait()

    def _gravity(self) -> Script[None]:
        steps, before = self.config.gravity_steps, 0.0
        for step in range(steps + 1):
            share = step / steps
            self.stage = f"gravity at {share:.0%}"
            drift = yield from self._arm.float_up(before, share)
            before, worst = share, int(drift.argmax())
            name = self._robot.joint_names[worst]
            self.outcome.gravity.append(GravityStep(share, float(drift[worst]), name))
            if drift[worst] > self.config.drift:
                self.stop(f"{name} moves at {share:.0%} of gravity: masses or scales are wrong")
                yield share * self._arm.wait()
