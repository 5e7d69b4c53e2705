"""The single moves of the procedure, each a script that yields efforts from state to state."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import numpy as np

from robodyn_ros.control.commissioning.findings import JointFindings
from robodyn_ros.control.commissioning.push import Push, evaluate
from robodyn_ros.control.commissioning.settings import CommissioningConfig
from robodyn_ros.control.commissioning.stroke import Stroke
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array

LIFT = 1.5
"""Effort of a push over what gravity asks for, where that is more than its share of the limit [-]."""

QUICK = 0.6
"""Part of the speed at which everything ends that ends a push [-]."""

STILL = 0.3
"""Time for which an arm is to stand before it stands still [s]."""

DIFFERENCE = 1e-4
"""Step of a finite difference [rad] or [m]."""

CALM = 5.0
"""Damping under gravity compensation: the rate at which a speed dies away [1/s]."""

STRIDE = 0.1
"""Part of the way back to nothing that one state may take the efforts [-]."""

Result = TypeVar("Result")

Script = Generator[Array, None, Result]
"""Yields the efforts until the next state; returns what came of it."""


class Moves:
    """See the module.

    Attributes:
        t: time of the state [s].
        q: positions (n,).
        qd: velocities (n,).
        effort: that acts (n,).
        damping: on each joint (n,) [N·m·s/rad] or [N·s/m]; negative where the sign of the effort is wrong.
        proven: the damping of the joints whose sign is known, 0 of the others.
    """

    def __init__(self, dynamics: Dynamics, config: CommissioningConfig) -> None:
        """
        Args:
            dynamics: the arm's model.
            config: settings.
        """
        self.t = 0.0
        self.q, self.qd, self.effort, self.damping, self.proven = np.zeros((5, dynamics.robot.n))
        self._dynamics, self._robot, self._config = dynamics, dynamics.robot, config

    def wait(self) -> Array:
        """The efforts while nothing is asked for: damping of the joints whose sign is known."""
        return -self.damping * self.qd

    def greatest(self, index: int) -> float:
        """The greatest effort of a push [N·m] or [N]."""
        limit = float(self._robot.effort_limit[index])
        load = abs(float(self._dynamics.gravity(self.q)[index]))
        return min(limit, max(self._config.probe_share * limit, LIFT * load))

    def push(self, index: int, direction: int, found: JointFindings) -> Script[Push]:
        """Push a joint until it moves, and let it come to rest."""
        config, begun, start, most = self._config, self.t, self.q, self.greatest(index)
        rate, times, moves = most / config.ramp_time, [0.0], [0.0]
        slow = QUICK * config.overspeed
        while abs(moves[-1]) <= config.push and abs(self.qd[index]) < slow and (effort := rate * times[-1]) <= most:
            yield self._with(index, direction * effort)
            times.append(self.t - begun)
            moves.append(float(self.q[index] - start[index]))
            others = np.abs(self.q - start)
            if abs(moves[-1]) < config.onset and others.max() > config.push:
                found.instead = self._robot.joint_names[int(others.argmax())]
                break
        push = evaluate(direction, rate, times, moves, config.onset)
        if np.isfinite(push.inertia):
            self.damping[index] = self.damper(push)
        yield from self.retreat()
        return push

    def damper(self, push: Push) -> float:
        """The damping that goes with the stiffness, with the sign that a push has shown."""
        return (1.0 if push.follows else -1.0) * 2.0 * push.inertia * self._config.stiffness_frequency

    def stroke(self, index: int, push: Push, found: JointFindings) -> Script[None]:
        """Move a joint slowly there and back, shake it, and note what that shows."""
        dynamics = self._dynamics
        stroke = Stroke(self._config, push, self.t, float(self.q[index]), self._room(index, push))
        while not stroke.over:
            load = float(dynamics.gravity(self.q)[index])
            yield self._with(index, stroke.effort(self.t, self.q, self.qd, index, load))
        found.friction = stroke.friction
        found.gravity, found.gravity_model = stroke.gravity
        scale = 1.0 if np.isnan(found.gravity_ratio) else found.gravity_ratio

        def model(q: Array, along: Array) -> tuple[float, float]:
            slope = dynamics.gravity(q + DIFFERENCE * along) - dynamics.gravity(q - DIFFERENCE * along)
            return float(dynamics.mass_matrix(q)[index] @ along), scale * float(slope[index]) / (2.0 * DIFFERENCE)

        found.inertia, felt = stroke.inertia(index, model)
        found.inertia_ratio = found.inertia / felt
        yield from self.retreat()

    def _room(self, index: int, push: Push) -> float:
        """How far the joint may go the way it went, by its position limits; all of the stroke if it is not in them."""
        q, joint, config = float(self.q[index]), self._robot.joints[index], self._config
        room = joint.upper - q if push.moved > 0.0 else q - joint.lower
        return float(min(config.stroke, 0.8 * room)) if room > config.push else config.stroke

    def float_up(self, before: float, after: float) -> Script[Array]:
        """Let the share of gravity that is compensated grow, and stay; how fast each joint drifts then (n,)."""
        begun, place, time = self.t, self.q, self._config.gravity_time
        while (past := (self.t - begun) / time) < 1.0:
            if past < 0.5:
                place = self.q
            self.damping = CALM * np.diagonal(self._dynamics.mass_matrix(self.q))
            share = before + (after - before) * min(1.0, 2.0 * past)
            yield share * self._dynamics.gravity(self.q) + self.wait()
        drift: Array = np.abs(self.q - place) / (time / 2.0)
        return drift

    def settle(self) -> Script[bool]:
        """Wait until the arm stands still; whether it does."""
        end, since, place = self.t + self._config.patience, self.t, self.q
        while self.t - since < STILL:
            if np.abs(self.q - place).max() > self._config.onset:
                since, place = self.t, self.q
            if self.t > end:
                return False
            yield self.wait()
        return True

    def retreat(self) -> Script[None]:
        """Efforts back to nothing, evenly: by `STRIDE` at most from state to state, also where some stayed away."""
        last, effort, past = self.t, self.effort, 0.0
        while past < 1.0:
            yield (1.0 - past) * effort + self.wait()
            past += min((self.t - last) / self._config.retreat_time, STRIDE)
            last = self.t

    def _with(self, index: int, effort: float) -> Array:
        efforts = self.wait()
        efforts[index] = effort
        return efforts
