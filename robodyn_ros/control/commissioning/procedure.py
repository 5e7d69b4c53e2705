# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The procedure of commissioning: states in, efforts out, and findings at the end.

It begins with the arm at rest without effort: lying on its stops, hanging, or supported. Nothing else can hold the arm
before the signs of the efforts are known. Then follow, joint by joint, the moves of
:mod:`robodyn_ros.control.commissioning.moves`: a push in both directions, and a stroke.

The order is from the tip to the base, so that the joints towards the tip, whose signs are known by then, can be damped
during the moves. If all joints are right, gravity compensation follows, from zero to full in steps.

If something goes wrong (a joint too fast or too far, missing states, an interruption), the efforts return to zero
within ``RETREAT_TIME``, never at once, with damping where the sign is known: zero effort is what held the arm before.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.checks import finite_array
from robodyn_ros.control.commissioning import findings
from robodyn_ros.control.commissioning.moves import ONSET, PUSH_RATE, STROKE_SPEED, Moves, Script
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.robot import Array, ConfigurationSpace

REST_TIME = 1.0  #: Time that the arm is watched at rest [s].
GRAVITY_STEPS = 4  #: Steps from no compensation of gravity to all of it.


class Commissioning:
    """One commissioning of an arm.

    Attributes:
        outcome: the findings.
        stage: the present move, as text.
        finished: True if the procedure is over; all efforts are zero then.
        question: the question to the user, for :meth:`answer`; None if there is none.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        settings: findings.CommissioningSettings | None = None,
        guided: bool = False,
        drives: DriveCompensation | None = None,
    ) -> None:
        """For a model with its settings (the defaults unless given); if ``guided``, the user is asked before each
        joint, and whether it moved in its positive direction; ``drives`` add a compensation by themselves.
        ConfigurationError: a joint has no effort limit, or none above 0.
        """
        robot = dynamics.robot
        for joint in robot.joints:
            if not 0.0 < joint.effort < np.inf:
                raise ConfigurationError(f"joint {joint.name!r}: needs an effort limit above 0 in the URDF")
        self.settings = settings or findings.CommissioningSettings()
        self.outcome = findings.CommissioningOutcome(robot.name)
        self.stage, self.finished = "watching the arm at rest", False
        self.question: str | None = None
        self._answers: list[bool] = []
        self._robot, self._space, self._guided = robot, ConfigurationSpace(robot), guided
        self._drives = drives or DriveCompensation.none(robot.n)
        self._arm = Moves(dynamics, self.settings, self._drives)
        self._start: Array | None = None
        self._script = self._run()

    def update(self, t: float, q: Array, qd: Array) -> Array:
        """The efforts (n,) in [N·m] or [N] for a state, at its time [s]: positions (n,) in [rad] or [m], and velocities
        (n,); InputError: they are not n finite numbers.
        """
        arm, shape = self._arm, (self._robot.n,)
        place, arm.t, arm.qd = finite_array("q", q, shape), t, finite_array("qd", qd, shape)
        if self._start is None:
            self._start = place.copy()
        arm.q = np.array(self._space.near(self._start, place))  # kept by the moves, while the caller may change q
        self._check_limits(self._start)
        effort = next(self._script, None)
        self.finished = effort is None
        wanted = np.zeros(shape) if effort is None else effort
        arm.effort = np.clip(wanted, -self._robot.effort_limit, self._robot.effort_limit)
        return arm.effort

    def answer(self, yes: bool) -> None:
        """Give the user's answer to the question."""
        self._answers, self.question = [yes], None

    def stop(self, why: str) -> None:
        """End the procedure: the efforts return to zero within ``RETREAT_TIME``."""
        if not (self.outcome.stopped or self.finished):
            self.outcome.stopped, self.question, self.stage = why, None, "releasing the efforts"
            # Damping of a joint with an uncertain sign might drive the arm.
            self._arm.damped, self._arm.rate = self._arm.proven.copy(), PUSH_RATE
            self._script = self._arm.release()

    def _check_limits(self, start: Array) -> None:
        most = self.settings
        for values, limit, text in (
            (np.abs(self._arm.qd), most.speed_limit, "moves at {:.3g} {}/s"),
            (np.abs(self._arm.q - start), most.travel_limit, "is {:.3g} {} from its start"),
        ):
            joint = self._robot.joints[int(values.argmax())]
            if values.max() > limit:
                told = text.format(values.max(), joint.position_unit)
                self.stop(f"{joint.name} {told}, more than {limit:g} ({self.stage})")

    def _run(self) -> Script[None]:
        yield from self._rest()
        for index in reversed(range(self._robot.n)):
            yield from self._joint(index)
        if any(joint.problems for joint in self.outcome.joints):
            yield from self._end("gravity was not compensated, because not every joint is right")
        yield from self._gravity()
        self.stage = "releasing the efforts"
        yield from self._arm.release()

    def _end(self, why: str) -> Script[None]:
        """Stop: the efforts return to zero from the present ones, which stay until the next state."""
        self.stop(why)
        yield self._arm.effort

    def _rest(self) -> Script[None]:
        arm = self._arm
        end, start = arm.t + REST_TIME, arm.q
        while arm.t < end:
            yield arm.wait()
            if (moved := np.abs(arm.q - start)).max() > 2.0 * ONSET:
                name = self._robot.joint_names[int(moved.argmax())]
                yield from self._end(f"{name} moves without effort: begin where the arm lies, hangs or is supported")

    def _joint(self, index: int) -> Script[None]:
        arm, joint = self._arm, self._robot.joints[index]
        found = findings.JointFindings(joint.name, joint.effort_unit, joint.effort)
        found.drive_adds_gravity = bool(self._drives.gravity[index])
        if not self._drives.friction[index]:
            found.friction_model = float(self._robot.friction[index] + self._robot.damping[index] * STROKE_SPEED)
        task = f"pushing with up to {arm.greatest(index):.3g} {joint.effort_unit}"
        if self._guided and not (yield from self._ask(f"{joint.name}: {task}. Is everybody clear?")):
            yield from self._end("stopped by the user")
        self.stage = f"{joint.name}: {task}"
        self.outcome.joints.append(found)
        pushes = []
        for direction in (1, -1):
            push = yield from arm.push(index, direction, found)
            yield from self._settled()
            arm.damped[index] = 0.0
            pushes.append(push)
        loose = [push for push in pushes if np.isfinite(push.inertia)]
        found.moved, found.follows = bool(loose), bool(loose) and all(push.follows for push in loose)
        found.pushed = True
        if not loose:
            return
        self.stage = f"{joint.name}: slowly there and back"
        if not (yield from arm.stroke(index, loose[0], found)):
            yield from self._end(f"{joint.name} does not follow its slow motion: something is in its way")
        arm.damped[index] = arm.proven[index] = loose[0].damper
        yield from self._settled()
        if self._guided and found.follows:
            axis = " ".join(f"{value:.3g}" for value in joint.axis)
            turn = "along" if joint.is_prismatic else "by the right hand about"
            ahead = "positive" if loose[0].moved > 0.0 else "negative"
            found.seen = yield from self._ask(f"Did {joint.name} go first in its {ahead} direction, {turn} {axis}?")

    def _ask(self, question: str) -> Script[bool]:
        self.question, self._answers = question, []
        while not self._answers:
            yield self._arm.wait()
        return self._answers.pop()

    def _settled(self) -> Script[None]:
        if not (yield from self._arm.settle()):
            yield from self._end("the arm does not come to rest")

    def _gravity(self) -> Script[None]:
        before = 0.0
        for step in range(GRAVITY_STEPS + 1):
            ratio = step / GRAVITY_STEPS
            self.stage = f"gravity at {ratio:.0%}"
            drift = yield from self._arm.compensate_gravity(before, ratio)
            before, worst = ratio, int(drift.argmax())
            name = self._robot.joint_names[worst]
            self.outcome.gravity.append(findings.GravityStep(ratio, float(drift[worst]), name))
            if drift[worst] > findings.DRIFT:
                yield from self._end(f"{name} moves at {ratio:.0%} of gravity: masses or scales are wrong")
