# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control step, compiled and in Python: over random histories both give the same efforts, flags and memory."""

import os

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, Reference, SafetySettings, rest_to_rest
from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.laws.traced import law_numbers
from robodyn_ros.control.step import joined
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.errors import RobodynError

ROBOT = rd.load_robot(arms.PRR)
LAWS = [name for name in rd.available("controllers") if name != "mpc"]
PERIOD = 0.004
SEEDS = max(1, int(os.environ.get("ROBODYN_HISTORIES", "60")) // 60)
"""How many histories the thorough test compares; `make soak-loop` has more."""

LIMITS = np.array([150.0, 20.0, 9.0])
"""Effort limits [N] and [N·m]."""


def assert_near(a, b, relative: float) -> None:
    """As NumPy's assert_allclose with 1e-11 absolutely, which takes ten times as long: 20 comparisons a step."""
    if not (np.abs(a - b) <= 1e-11 + relative * np.abs(b)).all():
        np.testing.assert_allclose(a, b, rtol=relative, atol=1e-11)


class Pair:
    """Two loops of the same law, one compiled and one in Python, that are told the same."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self.rng, self.name = rng, name
        self.loops = [self._loop(traced) for traced in (True, False)]
        self.t, self.q, self.qd = 100.0, rng.uniform(-0.4, 0.4, 3), np.zeros(3)
        self.seen: set[str] = set()

    def _gains(self) -> list[np.ndarray]:
        rng = np.random.default_rng(self.rng.integers(1 << 30))
        return [rng.uniform(30.0, 90.0, 3), rng.uniform(5.0, 20.0, 3), rng.uniform(0.0, 9.0, 3) * rng.integers(0, 2)]

    def _law(self, name: str, gains: list[np.ndarray], traced: bool):
        dynamics = rd.create_dynamics("rnea", ROBOT, viscous=[0.3, 0.1, 0.2], coulomb=[0.5, 0.2, 0.1])
        law = rd.create_controller(name, dynamics, *gains)
        law.traced = traced
        return law

    def _loop(self, traced: bool) -> ControlLoop:
        law = self._law(self.name, [np.array([60.0, 40.0, 50.0]), np.array([9.0, 8.0, 7.0]), np.array([5.0, 0.0, 2.0])],
                        traced)  # fmt: skip
        safety = SafetySettings(
            soft_limit_margin=0.3,
            blend_time=0.03,
            externally_supported=True,
            plausibility=False,  # the states are random: no arm moves like that
        )
        feedback = Feedback(np.array([90.0, 30.0, 20.0]), np.array([9.0, 3.0, 2.0]))
        loop = ControlLoop(law, LIMITS, safety, rate_limit=[9e3, 2e3, 5e2], feedback=feedback)
        assert (loop.compiled_step is not None) == traced
        return loop

    def both(self, act) -> None:
        """Do something to each; what comes of it, an error too, is the same."""
        found = []
        for loop in self.loops:
            try:
                found.append(act(loop))
            except RobodynError as problem:
                found.append((type(problem), str(problem)))
        one, other = found
        if isinstance(one, tuple) and not hasattr(one, "_fields"):
            assert one == other
        elif hasattr(one, "effort"):
            self._same(one, other)
        assert_near(*(joined([*vars(loop.memory().memory).values()]) for loop in self.loops), 1e-11)
        if getattr(one, "efforts", None) is None:  # a law in Python looks at its model when it is asked again
            return
        memories = [law_numbers(loop.controller).memory.values() for loop in self.loops]
        for a, b in zip(*memories, strict=True):
            assert_near(a, b, 1e-11)

    def _pick_up(self, loop: ControlLoop, mass: float) -> None:
        """Change the payload. A law in Python sees it when asked, a compiled one with the next state: ask it."""
        loop.dynamics.configure(payload=Payload(ROBOT.links[-1].name, mass))
        loop.controller.compute(self.q, self.qd, Reference(self.q, self.qd, self.qd, self.qd))

    def _same(self, one, other) -> None:
        assert one.fault == other.fault
        self.seen.add(one.fault or "none")
        assert_near(one.effort, other.effort, 1e-12)
        for flag in ("saturated", "rate_limited"):
            a, b = getattr(one, flag), getattr(other, flag)
            assert a.dtype == b.dtype == bool
            assert (a == b).all()
            self.seen |= {flag} if a.any() else set()
        assert (one.efforts is None) == (other.efforts is None)
        if one.efforts is not None:
            for a, b in zip(one.efforts, other.efforts, strict=True):
                assert_near(a, b, 1e-12)
            assert (one.error == other.error).all()

    def step(self) -> None:
        """A state, and now and then something else."""
        rng = self.rng
        chance, other = rng.random(), rng.uniform(-1.0, 1.0, 3)
        self.t += PERIOD
        if chance < 0.01:
            self.t += 0.3  # a gap
            self.both(lambda loop: loop.watch(self.t))
        elif chance < 0.02:
            self.both(lambda loop: loop.hold(self.t))
        elif chance < 0.04:
            self.both(lambda loop: loop.follow(rest_to_rest([self.q + 0.4 * other], [0.3]), self.t) and None)
        elif chance < 0.06:
            reference = Reference(self.q + 0.1 * other, 0.2 * other, other, 3.0 * other)
            self.both(lambda loop: loop.track(reference, self.t))
        elif chance < 0.07:
            gains = self._gains()
            for loop, traced in zip(self.loops, (True, False), strict=True):
                loop.apply(loop.settings._replace(controller=self._law(self.name, gains, traced)))
        elif chance < 0.08:
            self.both(lambda loop: self._pick_up(loop, abs(other[0])))
        elif chance < 0.085:
            self.both(lambda loop: loop.set_publisher_conflict("two of them" if other[0] > 0.0 else ""))
        elif chance < 0.09:
            self.both(lambda loop: loop.stop() is None)
        elif chance < 0.10:
            self.t -= PERIOD  # the same state again
        else:
            self.qd = np.clip(0.95 * self.qd + 0.15 * other, -1.5, 1.5)
            self.q = np.clip(self.q + PERIOD * self.qd, -1.3, 1.3)
        if chance > 0.99:
            self.qd = 40.0 * other  # too fast
        self.both(lambda loop: loop.update(self.t, self.t, self.q, self.qd))


def histories(name: str, steps: int, seed: int) -> set[str]:
    pair = Pair(name, np.random.default_rng(seed))
    for _ in range(steps):
        pair.step()
    return pair.seen


@pytest.mark.parametrize("name", LAWS)
def test_the_compiled_step_is_the_step_in_python(name: str) -> None:
    seen = histories(name, 250, 3)
    assert {"none", "saturated", "rate_limited"} <= seen


@pytest.mark.thorough
@pytest.mark.parametrize("name", LAWS)
def test_the_compiled_step_is_the_step_in_python_for_long(name: str) -> None:
    seen = set().union(*(histories(name, 2000, seed) for seed in range(SEEDS)))
    assert seen >= {"none", "speed", "states", "publisher", "saturated", "rate_limited"}
