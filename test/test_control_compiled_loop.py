"""The control loop in C (control/loop.c) and in Python: over random histories both do the same.

Two ways of running it in C are compared with Python: in place, where Python takes over whatever is amiss, and alone, as
in a thread of its own, where C answers to faults itself.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
from collections.abc import Callable
from typing import Any

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, Reference, SafetySettings, Trajectory, rest_to_rest
from robodyn_ros.control.compiled_loop import (
    CODE,
    FAILED,
    JUMPED,
    KINDS,
    NO_VELOCITY,
    NOT_FINITE,
    NOTHING,
    SENT,
    STALE,
    UNORDERED,
    UNSTARTED,
    CompiledCommand,
    CompiledLoop,
    loop_source,
    structs_for,
)
from robodyn_ros.control.compiled_step import ROWS
from robodyn_ros.control.contact.momentum_observer import MomentumObserver
from robodyn_ros.control.contact.settings import Contact, ContactThresholds
from robodyn_ros.control.drive_compensation import DriveCompensation
from robodyn_ros.control.faults import problems
from robodyn_ros.control.faults.settings import PHASES, TO_CONTACT, FaultReactions, Feedback
from robodyn_ros.control.live_loop import LiveLoop, words
from robodyn_ros.control.reference.manager import TrajectoryReference
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.control.step import Command
from robodyn_ros.control.step_numbers import StepMemory
from robodyn_ros.errors import (
    EffortError,
    FutureStateError,
    InputError,
    JumpError,
    OrderError,
    RobodynError,
    StaleStateError,
)

PRR = rd.load_robot(arms.mechanism("PRR", (13, 1.5, 6), (1, 0.5, 0.34), (0.1, 0.2, 0.15)))
TURNING = rd.load_robot(
    arms.mechanism("PRR", (11, 2.5, 1.6), (1, 0.4, 0.3), (0.1, 0.2, 0.13)).replace(
        'type="revolute"', 'type="continuous"'
    )
)
REFUSED = {
    StaleStateError: STALE,
    FutureStateError: STALE,
    OrderError: UNORDERED,
    JumpError: JUMPED,
    EffortError: FAILED,
}
LAWS = ["computed_torque", "pd", "impedance", "adaptive", "disturbance_observer", "free_drive"]
LIMITS = np.array([260.0, 40.0, 15.0])
SEEDS = int(os.environ.get("ROBODYN_SEEDS", "16"))
HISTORIES = int(os.environ.get("ROBODYN_HISTORIES", "60"))
"""How many histories the thorough test compares; `make soak-loop` has more."""


class Alone:
    """A loop in C that asks Python for nothing while states come, as in a thread of its own."""

    def __init__(self, loop: ControlLoop) -> None:
        self.loop = loop
        loop._to_compile = False
        self.core: CompiledLoop | None = None

    def load(self) -> CompiledLoop:
        if self.core is None or self.core._loop.settings is not self.settings:
            self.core = self.loop._compiled = CompiledLoop(self.loop)
            self.settings = self.loop.settings
        if not self.core.ahead:
            self.loop.save(self.core.state.fields, self.core.motion)
            self.core.ahead = True
        self.core.period.fields.alone[...] = 1
        return self.core

    def update(self, t: float, now: float, q: np.ndarray, qd: np.ndarray | None) -> Any:
        core = self.load()
        core._times[0], core._times[1] = t, now
        core._q[:], core._qd[:] = q, q if qd is None else qd
        core._has_velocity[...] = qd is not None
        if len(core.settings.law_memory):
            core.settings.law_memory[:] = core.settings.step.law_memory
        code = core._run()
        if code != UNSTARTED:
            return self.told(code)
        core.give_back()  # the first state is Python's
        self.loop._to_compile = False
        command = self.loop._update(t, now, q, qd)
        if command is None:
            return NOTHING
        return command.effort, command.saturated, command.rate_limited, command.fault

    def watch(self, t: float) -> Any:
        core = self.load()
        return self.told(core.watch(t))

    def told(self, code: int) -> Any:
        core = self.load()
        if len(core.settings.law_memory):
            core.settings.step.restore_law(core.settings.law_memory)
        if code != SENT:
            return code
        rows, kind = core._result, int(core.period.fields.kind)
        return rows[6].copy(), rows[7] != 0.0, rows[8] != 0.0, KINDS[kind] if kind >= 0 else None


class History:
    """A random history of one arm: states, as good as they come, and what is asked of it."""

    def __init__(self, seed: int, *, alone: bool) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.speeds = np.random.default_rng([seed, 1])
        self.robot = [PRR, TURNING][int(rng.integers(2))]
        self.name = str(rng.choice(LAWS, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1]))
        self.period = float(rng.choice([1e-3, 4e-3, 9e-3]))
        self.has_velocity = rng.random() > 0.15
        seed = int(rng.integers(1 << 30))
        self.loops = [self.loop(np.random.default_rng(seed)) for _ in range(2)]
        self.loops[1].runs_in_c = False
        self.alone = Alone(self.loops[0]) if alone else None
        self.t, self.q, self.qd = 100.0, rng.uniform(-0.4, 0.4, 3), np.zeros(3)
        self.still = 0
        self.wrong, self.calm = 1.0, float(rng.choice([1.0, 9.0]))
        self.seen: set[str] = set()
        self.following: list[Any] = [None, None]

    def law(self, rng: np.random.Generator) -> Any:
        dynamics = rd.create_dynamics("rnea", self.robot, viscous=[0.3, 0.1, 0.2], coulomb=[0.5, 0.2, 0.1])
        gains = rng.uniform(30.0, 90.0, 3), rng.uniform(5.0, 20.0, 3), rng.uniform(0.0, 9.0, 3) * rng.integers(0, 2)
        return rd.create_controller(self.name, dynamics, *gains)

    def contact(self, law: Any, rng: np.random.Generator) -> Contact | None:
        if rng.random() < 0.5:
            return None
        bounds = rng.choice([2.0, 20.0, 200.0], 4), rng.choice([10.0, 100.0, np.inf], 2), rng.choice([5.0, np.inf], 2)
        thresholds = ContactThresholds(
            np.full(3, bounds[0][0]), np.full(3, 3.0 * bounds[0][0]), bounds[1], 2.0 * bounds[1],
            float(rng.choice([0.5, np.inf])),
        )  # fmt: skip
        observer = MomentumObserver(law.dynamics, gain=float(rng.choice([20.0, 200.0])), tool=bool(rng.integers(2)))
        return Contact(observer, thresholds, bool(rng.random() < 0.8))

    def safety(self, rng: np.random.Generator) -> SafetySettings:
        return SafetySettings(
            soft_limit_margin=0.3,
            ramp_time=float(rng.choice([0.0, 0.02])),
            blend_time=float(rng.choice([0.0, 0.03])),
            ramp_down_time=float(rng.uniform(0.02, 0.1)),
            reference_lead=0.05,
            reference_timeout=float(rng.choice([0.02, 0.2])),
            recurrences=int(rng.integers(1, 5)),
            recurrence_time=float(rng.uniform(0.1, 3.0)),
            quiet_time=float(rng.uniform(0.05, 0.5)),
            state_timeout=0.05,
            plausibility=bool(rng.integers(2)),
            following_tolerance=float(rng.choice([0.0, 0.3, 0.8])),
            missing_velocity="refuse" if rng.random() < 0.2 else "estimate",
            cmd_timeout=float(rng.choice([0.0, 0.05])),
            unknown_friction=float(rng.choice([0.0, 1.0])),
            allow_sagging=True,
        )

    def loop(self, rng: np.random.Generator) -> ControlLoop:
        choices = dict.fromkeys(KINDS, ("hold", "damp", "ramp"))
        choices |= {
            "states": ("hold", "ramp"),
            "sensor": ("hold", "ramp"),
            "touch": TO_CONTACT,
            "collision": TO_CONTACT,
        }
        answers = {
            kind: type(given)(str(rng.choice(choices[kind])), float(rng.choice([0.0, 0.05, 0.2])))
            for kind, given in FaultReactions()._asdict().items()
        }
        law = self.law(rng)
        return ControlLoop(
            law, LIMITS, self.safety(rng), rate_limit=[9e3, 2e3, 5e2], velocity_limit=[2.0, 3.0, 2.5],
            feedback=Feedback(np.array([90.0, 30.0, 20.0]), np.array([9.0, 3.0, 2.0])),
            tolerances=Tolerances(np.full(3, rng.choice([0.1, np.inf])), np.full(3, rng.choice([0.02, 0.6])), 2.0,
                                  float(rng.choice([0.1, np.inf]))),
            reactions=FaultReactions(**answers), deceleration=rng.choice([2.0, np.inf], 3),
            drives=DriveCompensation(*rng.integers(0, 2, (3, 3)).astype(float)) if rng.random() < 0.3 else None,
            contact=self.contact(law, rng),
        )  # fmt: skip

    # What is done to both, and compared

    def both(self, act: Callable[[ControlLoop], Any]) -> None:
        """Do something to each loop; what comes of it is the same."""
        found = []
        for loop in self.loops:
            try:
                found.append(act(loop))
            except RobodynError as problem:
                found.append((type(problem), str(problem)))
        assert found[0] == found[1]

    def state(self, t: float, now: float, q: np.ndarray, qd: np.ndarray | None) -> None:
        """A state comes."""
        self.answered(lambda loop: loop.update(t, now, q, qd))

    def watch(self, t: float) -> None:
        self.answered(lambda loop: loop.watch(t))

    def answered(self, act: Callable[[Any], Any]) -> None:
        found: list[Any] = []
        for loop in (self.alone or self.loops[0], self.loops[1]):
            try:
                found.append(act(loop))
            except RobodynError as problem:
                found.append(problem)
        one, other = found
        self.seen |= {"StaleStateError"} if isinstance(other, StaleStateError) else set()
        self.seen.add(type(other).__name__ if isinstance(other, Exception) else getattr(other, "fault", "") or "none")
        if self.alone is None:
            self.same_command(one, other)
        else:
            self.same_code(one, other)
        self.same_memory()

    def close(self, one: np.ndarray, other: np.ndarray) -> None:
        # What a law remembers adds up the rounding of a trajectory's accelerations; steep ones are rounded by more.
        # The stop of a motion that is reckoned divides rounded velocities by its time constant, and adds them up.
        sums = 1e3 if self.loops[0].controller.remembers or self.reckoned else 1.0
        close(one, other, sums * max(1.0, self.steepest / 100.0))

    def same_command(self, one: Any, other: Any) -> None:
        assert type(one) is type(other) or (isinstance(one, CompiledCommand) and isinstance(other, Command))
        if isinstance(other, Exception):
            assert str(one) == str(other)
        if not isinstance(other, Command):
            return
        assert (one.fault, one.problem, one.state_age) == (other.fault, other.problem, other.state_age)
        self.reckoned |= other.fault in ("states", "sensor")
        self.same_efforts((one.effort, one.saturated, one.rate_limited), other)
        if other.reference is not None:
            self.steepest = max(self.steepest, float(np.abs(other.reference.qdd).max()))
        assert (one.efforts is None) == (other.efforts is None)
        if other.efforts is not None:
            for a, b in zip((*one.efforts, *one.reference, one.error), (*other.efforts, *other.reference, other.error),
                            strict=True):  # fmt: skip
                self.close(a, b)
        for a, b in zip(one.state or (), other.state or (), strict=True):
            self.close(a, b)
        assert (one.external is None) == (other.external is None)
        if other.external is not None:
            close(one.external, other.external, 1e3 * max(1.0, float(np.abs(other.external).max())))

    def same_code(self, one: Any, other: Any) -> None:
        if isinstance(other, Command):
            *efforts, fault = one
            assert fault == other.fault
            self.reckoned |= fault in ("states", "sensor")
            self.same_efforts(efforts, other)
        elif other is None:
            assert one == NOTHING
        elif isinstance(other, InputError) and not isinstance(other, tuple(REFUSED)):
            assert one in (NOT_FINITE, NO_VELOCITY)
        else:
            assert one == REFUSED[type(other)]

    def same_efforts(self, one: Any, other: Command) -> None:
        self.close(one[0], other.effort)
        for a, b in zip(one[1:], (other.saturated, other.rate_limited), strict=True):
            if (a != b).any():  # the efforts agree, so a cut that one made and the other did not is their rounding
                self.rounded += 1
                assert self.rounded <= 20
            self.seen |= {"limited"} if a.any() else set()

    rounded = 0
    reckoned = False  # True once an effort was sent that is a blind stop
    steepest = 0.0  # greatest acceleration of the reference so far

    def same_memory(self) -> None:
        one, other = self.loops
        if self.alone is None:
            assert one.restarts == other.restarts
            return
        self.close(one.step_memory, other.step_memory)
        assert (one.mode, one.requests, one.restarts) == (other.mode, other.requests, other.restarts)
        self.seen.add(other.mode)
        source = other._references._source
        if isinstance(source, TrajectoryReference):
            self.seen |= {"scaled"} if source.time is not None else set()
            self.seen |= {"planned"} if source.planned(self.t) is not None else set()
        assert (one.fault is None) == (other.fault is None)
        if other.fault is not None:
            for name in ("kind", "phase", "present", "latched"):
                assert getattr(one.fault, name) == getattr(other.fault, name)
            self.seen |= {f"{other.fault.phase}", f"latched {other.fault.latched}"}
        for a, b in zip(one._supervisor._histories.values(), other._supervisor._histories.values(), strict=True):
            assert (a.level, a.latched, list(a._begins)) == (b.level, b.latched, list(b._begins))
        if self.following[1] is not None:
            assert self.following[0].outcome == self.following[1].outcome
            self.seen.add(str(self.following[1].outcome))

    def follow(self, make: Callable[[], Trajectory], start: float | None, joints: list[str] | None) -> None:
        def act(loop: ControlLoop) -> None:
            following = loop.follow(make(), start, joints)
            self.following[self.loops.index(loop)] = following

        self.both(act)

    # What happens

    def step(self) -> None:
        rng = self.rng
        self.still -= 1
        if self.still > 0:
            self.t, self.qd = self.t + self.period, np.zeros(3)
            self.state(self.t, self.t, self.q, self.qd if self.has_velocity else None)
            return
        chance, other = self.calm * rng.random(), rng.uniform(-1.0, 1.0, 3)
        self.t += self.period * (rng.uniform(0.9, 1.1) if self.period > 5e-3 else 1.0)
        t, now = self.t, self.t
        self.qd = np.clip(0.97 * self.qd + 0.1 * other, -1.2, 1.2)
        self.q = self.q + self.period * self.qd
        q, qd = self.q, self.wrong * self.qd
        if chance < 0.004:
            for wait in rng.uniform(0.01, 0.2, int(rng.integers(1, 9))):  # a gap
                self.t += wait
                self.watch(self.t)
            return
        if chance < 0.012:
            self.both(lambda loop: loop.hold(t))
        elif chance < 0.03:
            self.ask_for_motion(other)
        elif chance < 0.06:
            reference = Reference(self.q + 0.06 * other, 0.2 * other, other, 3.0 * other)
            self.both(lambda loop: loop.track(reference, t))
        elif chance < 0.07:
            q = q + 2.0 * np.pi * rng.integers(-1, 2, 3)
        elif chance < 0.08:
            q = q + 0.5 * other  # it jumps
        elif chance < 0.085:
            self.q = self.q + 0.4  # it is elsewhere
        elif chance < 0.09:
            t, now = t - 0.02, t
        elif chance < 0.095:
            now = t + rng.uniform(-0.2, 0.2)
        elif chance < 0.10:
            q = q * np.array([1.0, np.nan, np.inf])
        elif chance < 0.11:
            qd = 9.0 * other
        elif chance < 0.114:
            self.both(lambda loop: loop.set_publisher_conflict("two of them" if other[0] > 0.0 else ""))
        elif chance < 0.116:
            kind = str(rng.choice(["", "touch", "collision"]))
            self.both(lambda loop: loop.set_contact(kind, "somebody says so" if kind else ""))
        elif chance < 0.117:
            self.both(lambda loop: loop.tare(other) if loop.settings.contact else None)
        elif chance < 0.119:
            self.wrong = float(rng.choice([1.0, -1.0, 0.0, 40.0]))
        elif chance < 0.122:
            self.change(rng)
        elif chance < 0.124:
            self.both(lambda loop: loop.reset_clock())
            self.t -= 3.0
        elif chance < 0.126:
            self.both(lambda loop: loop.stop())
        elif chance < 0.13:
            qd = qd * np.nan
        elif chance < 0.14:
            self.t = t = t - self.period  # the same state again
        elif chance < 0.145:
            self.scale_speed()
        self.state(t, now, q, qd if self.has_velocity else None)

    def begin_small_motion(self) -> None:
        """A motion that the arm comes to the end of, or does not follow at all, for it stands still."""
        goal, duration = (self.q + 0.004, 0.05) if self.rng.random() < 0.5 else (self.q + 0.18, 0.15)
        self.follow(lambda: rest_to_rest([goal], [duration]), None, None)
        self.still = round(2.0 * duration / self.period)

    def scale_speed(self) -> None:
        part = float(self.speeds.choice([0.0, 1.0, self.speeds.uniform()]))
        self.both(lambda loop: loop.scale_speed(part))

    def begin_planned_motion(self) -> None:
        points, efforts = self.q[[2, 0]] + [[0.01, 0.01], [0.02, -0.01]], [[1.0, 30.0], [-2.0, 15.0]]
        names = [self.robot.joint_names[index] for index in (2, 0)]
        self.follow(lambda: Trajectory([0.05, 0.3], points, efforts=efforts), None, names)

    def ask_for_motion(self, other: np.ndarray) -> None:
        start = self.rng.choice([None, self.t + 0.05, self.t - 0.05])
        duration = self.rng.uniform(0.15, 0.5)
        kind, names = self.rng.integers(4), list(self.robot.joint_names)
        goal = self.q + 0.15 * other
        if kind == 0:
            self.follow(lambda: rest_to_rest([goal], [duration]), start, None)
        elif kind == 1:
            times = [0.1, 0.2, 0.2 + duration]
            self.follow(lambda: Trajectory(times, np.outer([0.4, 0.7, 1.0], goal)[:, :2]), start, [names[2], names[0]])
        elif kind == 2:
            speeds = np.array([0.1 * other, 0.2 * other, 0.0 * other])
            points = [self.q + 0.05 * other, self.q + 0.1 * other, goal]
            self.follow(lambda: Trajectory([0.08, 0.2, 0.5], points, speeds), start, None)
        else:
            rows = np.array([0.1 * other, 0.0 * other])
            efforts = np.outer([0.3, -0.2], 20.0 * other) if other[1] > 0.0 else None
            self.follow(lambda: Trajectory([0.2, 0.5], [self.q, goal], rows, rows, efforts), start, None)

    def change(self, rng: np.random.Generator) -> None:
        seed = int(rng.integers(1 << 30))
        for loop in self.loops:
            rng = np.random.default_rng(seed)
            law = self.law(rng)
            loop.apply(loop.settings._replace(controller=law, contact=self.contact(law, rng)))


def close(one: np.ndarray, other: np.ndarray, drift: float = 1.0) -> None:
    """They are equal up to rounding, in terms of the efforts that there are."""
    np.testing.assert_allclose(one, other, rtol=1e-12 * drift, atol=1e-12 * drift * LIMITS.max())


def run(seed: int, steps: int, *, alone: bool) -> set[str]:
    history = History(seed, alone=alone)
    for index in range(steps):
        if index == 20:
            history.begin_small_motion()
        elif index == 70:
            history.begin_planned_motion()
        elif index == 80:
            history.scale_speed()
        history.step()
    return history.seen


SEEN = {"none", "states", "speed", "publisher", "sensor", "StaleStateError", "OrderError", "JumpError", "InputError"}
SEEN |= {"limited", "touch", "collision"}
SEEN_ALONE = SEEN | {"hold", "damp", "ramp", "silent", "follow", "track", "latched True", "latched False", "following"}
SEEN_ALONE |= {"float", "retreat", "wait", "scaled", "planned"}
SEEN_ALONE |= {"succeeded", "path tolerance violated", "replaced", "held", "interrupted"}
RARE = {"following", "path tolerance violated", "retreat"}
"""What comes once in a hundred histories of 100 periods; those of 250 in the gate have all of it."""


@pytest.mark.parametrize("alone", [False, True])
def test_in_c_and_in_python_a_loop_does_the_same(alone: bool) -> None:
    seen = set().union(*(run(seed, 250, alone=alone) for seed in range(SEEDS)))
    assert seen >= (SEEN_ALONE if alone else SEEN)


@pytest.mark.thorough
@pytest.mark.parametrize("alone", [False, True])
def test_in_c_and_in_python_a_loop_does_the_same_in_many_histories(alone: bool) -> None:
    seen = set().union(*(run(1000 + seed, 100, alone=alone) for seed in range(HISTORIES)))
    assert seen >= (SEEN_ALONE if alone else SEEN) - (RARE if HISTORIES < 300 else set())


class InPlace:
    """Runs a loop in C where the thread of the node would."""

    def __init__(self, core: CompiledLoop) -> None:
        self.core = core

    def copy(self, state: Any, law_memory: np.ndarray) -> None:
        words(state)[:] = words(self.core.state)

    def make(self, change: Any) -> bool:
        state = words(self.core.state)
        if (state[change.guarded] != change.expected).any():
            return False
        state[change.places] = change.values
        if change.settings is not None:
            self.core.main.fields.settings[...] = change.settings.record.address
        return True

    def end(self, reason: str) -> None:
        raise AssertionError(reason)


def test_planned_efforts_and_another_speed_stay_in_the_thread() -> None:
    law = rd.create_controller("pd", rd.create_dynamics("rnea", PRR), 9.0, 6.0)
    q, qd, rest, found = np.full(3, 0.1), np.zeros(3), np.zeros((3, 3)), []
    way = Trajectory(
        [0.0, 0.2, 0.5], [q, q + 0.05, q], rest, None, [[9.0, 2.0, 0.5], [-3.0, 1.0, 0.2], [0.0, 1.0, 0.1]]
    )
    asked: dict[int, Callable[[ControlLoop], Any]] = {
        2: lambda loop: loop.follow(way),
        150: lambda loop: loop.scale_speed(0.5),
        300: lambda loop: loop.apply(loop.settings._replace(safety=loop.settings.safety)),
        400: lambda loop: loop.scale_speed(1.0),
        700: lambda loop: loop.follow(way),
    }
    safety = SafetySettings(following_tolerance=0.0, plausibility=False, allow_sagging=True)
    live, plain = (ControlLoop(law, LIMITS, safety) for _ in range(2))
    plain.runs_in_c = False
    for step in range(900):
        t = 1e-3 * step
        for loop in (live, plain):
            if step in asked:
                asked[step](loop)
        command = plain.update(t, t, q, qd)
        assert command is not None
        if step == 0:
            live.update(t, t, q, qd)
            core = live.lend()
            live.live = LiveLoop(live, core, InPlace(core))
            continue
        core._times[0], core._times[1], core._q[:], core._qd[:] = t, t, q, qd
        assert core._run() == SENT
        close(core._result[6], command.effort)
        planned = plain._references.planned(t) is not None
        found.append((planned, plain._references.planned(t) is None and plain.mode == "follow"))
    assert [sum(kinds) > 100 for kinds in zip(*found, strict=True)] == [True, True]


def test_trajectories_are_sampled_to_the_same_bits() -> None:
    """What goes on from a trajectory divides its rounding by the square of a millisecond."""
    way, rows = rest_to_rest([[0.1, 0.2, 0.3], [0.5, -0.3, 0.1]], [0.1, 0.7]), []
    for runs_in_c in (True, False):
        law = rd.create_controller("pd", rd.create_dynamics("rnea", PRR), 9.0, 6.0)
        loop = ControlLoop(law, LIMITS, SafetySettings(following_tolerance=0.0, plausibility=False, allow_sagging=True))
        loop.runs_in_c = runs_in_c
        loop.update(0.0, 0.0, np.zeros(3), np.zeros(3))
        loop.follow(way)
        for t in 1e-3 * np.arange(1, 800):
            if t == 0.4:
                loop.scale_speed(0.7)
            command = loop.update(t, t, np.zeros(3), np.zeros(3))
            assert isinstance(command, CompiledCommand) == runs_in_c
            rows.append(np.array(command.reference))
    np.testing.assert_array_equal(rows[:799], rows[799:])
    assert np.abs(rows[400:700]).max() > 0.3


def test_the_c_compiler_has_nothing_to_say(tmp_path) -> None:
    source = tmp_path / "loop.c"
    source.write_text(loop_source(5))
    strict = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-c")
    subprocess.run(["cc", *strict, str(source), "-o", str(tmp_path / "loop.o")], check=True)


def test_c_and_python_have_the_same_names() -> None:
    assert len(ROWS) == 12
    structs = structs_for(3)
    assert tuple(vars(structs.make("State").fields.memory)) == StepMemory._fields
    text = CODE.read_text()
    assert f"enum {{ {', '.join(kind.upper() for kind in KINDS)}, KINDS }};" in text
    assert f"enum {{ {', '.join(phase.upper() for phase in PHASES)} }};" in text
    found = [name for name in vars(problems) if name.isupper()]
    assert f"enum {{ {', '.join(found)} }};" in text


def test_the_first_state_does_not_wait_for_the_compiler(monkeypatch) -> None:
    """The node compiles the loop when it is configured: a compiler takes a second, in which the arm would sink."""
    robot = rd.load_robot("urdf/prr.urdf")
    dynamics = rd.create_dynamics("rnea", robot)
    law = rd.create_controller("computed_torque", dynamics, np.full(3, 100.0), np.full(3, 20.0))
    loop = ControlLoop(law, robot.effort_limit)
    loop.compile()
    made: list[ControlLoop] = []
    monkeypatch.setattr("robodyn_ros.control.loop.CompiledLoop", made.append)
    for t in (0.0, 0.002):
        assert loop.update(t, t, robot.home, np.zeros(3)) is not None
    assert not made
    assert loop._compiled is not None


def test_a_command_from_c_is_a_command() -> None:
    """Its parts are made when they are asked for; taken apart, changed, copied and pickled it is as one from Python."""
    robot = rd.load_robot("urdf/prr.urdf")
    q, qd = np.array([0.3, -0.9, 0.4]), np.array([0.1, -0.2, 0.3])
    commands = []
    for runs_in_c in (True, False):
        law = rd.create_controller("computed_torque", rd.create_dynamics("rnea", robot), 9.0, 6.0, 2.0)
        loop = ControlLoop(law, robot.effort_limit)
        loop.runs_in_c = runs_in_c
        for step in range(3):
            command = loop.update(0.01 * step, 0.01 * step, q + 0.01 * step * qd, qd)
        commands.append(command)
    in_c, plain = commands
    assert in_c is not None and plain is not None
    assert isinstance(in_c, CompiledCommand) and type(plain) is Command
    copies = in_c, copy.copy(in_c), pickle.loads(pickle.dumps(in_c)), Command(*in_c), in_c._replace(state_age=0.0)
    assert [type(one) for one in copies[1:]] == [Command] * 4
    assert repr(in_c) == repr(copies[1])
    for one in copies:
        for name, expected, found, by_place in zip(Command._fields, plain, one, range(len(plain)), strict=True):
            for value in (found, getattr(one, name), one[by_place], one._asdict()[name]):
                assert type(value) is type(expected), name
                if isinstance(expected, tuple | np.ndarray):
                    np.testing.assert_allclose(np.array(value), np.array(expected), rtol=1e-12, atol=1e-12)
                else:
                    assert value == expected
