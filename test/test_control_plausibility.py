"""States that cannot be true, and arms that do not follow: found on simulated arms, and only where they are.

Each arm swings under its law while a fault of its sensors is injected (benchmarks/faults.py has all of them).
"""

import sys
from pathlib import Path

import industrial
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import SafetySettings, gains, rest_to_rest
from robodyn_ros.errors import NotReadyError
from robodyn_ros.plugins import load
from robodyn_ros.simulation import FrictionSettings
from robodyn_ros.simulation.sweeps.runner import CaseRunner
from robodyn_ros.simulation.sweeps.study_reader import read_study

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from faults import BEGIN, SCENARIOS, Cell, frozen, measure, spoilt

ROOT = Path(__file__).parents[1]
PRR = rd.load_robot(ROOT / "urdf/prr.urdf")
ARMS = {"prr": PRR} | {
    name: rd.load_robot(path) for name, path in industrial.urdfs().items() if name in ("ur5_robot", "panda")
}


def started(robot=PRR, **options):
    cell = Cell(robot, **options)
    cell.run(BEGIN)
    assert not cell.faults, cell.faults[0]
    cell.clear()
    return cell


def kinds(cell):
    return {kind for _, kind, _ in cell.faults}


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("which", ["all", "first", "fifth"])
@pytest.mark.parametrize("moved", [0.0, 2.1])
def test_encoders_that_stand_still_are_found_before_the_arm_is_fast(name, which, moved):
    """Of an arm that has not moved before, or in the middle of a swing. Nothing but the drives' brakes stops it."""
    cell = started(ARMS[name])
    cell.run(moved)
    inject, begin = frozen({"all": slice(None), "first": 0, "fifth": min(4, cell.robot.n - 1)}[which])(), cell.t
    assert cell.run(1.0, inject, until=lambda: bool(cell.faults))
    assert kinds(cell) == {"sensor"}
    assert "stands still" in cell.faults[0][2]
    assert cell.t - begin < 0.7  # the longest: the fifth joint of an arm that begins to move, which the others load
    assert (cell.speed <= 1.5 * cell.limits.velocity).all()
    cell.run(1.0, inject)  # stopped by the model, and led down to the brakes
    assert kinds(cell) == {"sensor"}
    assert cell.loop.fault.phase == "silent"
    assert (cell.speed <= 1.5 * cell.limits.velocity).all()


@pytest.mark.parametrize("noise", [1e-5, 2e-4, 5e-4])
def test_noise_does_not_hide_an_encoder_that_stands_still(noise):
    cell = started()
    cell.run(1.5, frozen(0, noise=noise)())
    assert kinds(cell) == {"sensor"}


LIES = {
    "the sign": lambda s: s._replace(qd=-s.qd),
    "the sign of one": lambda s: s._replace(qd=s.qd * np.where(np.arange(len(s.qd)) == 1, -1.0, 1.0)),
    "zero": lambda s: s._replace(qd=0.0 * s.qd),
    "degrees": lambda s: s._replace(qd=np.rad2deg(s.qd)),
    "three times": lambda s: s._replace(qd=3.0 * s.qd),
    "another joint's": lambda s: s._replace(qd=s.qd[::-1].copy()),
}


@pytest.mark.parametrize("lie", LIES)
def test_velocities_that_contradict_positions_are_found(lie):
    cell = started()
    cell.run(1.5, spoilt(LIES[lie])())
    assert "sensor" in kinds(cell)
    assert (cell.speed <= 1.2 * cell.limits.velocity).all()


def test_a_sensor_that_lives_again_is_believed_and_a_dead_one_has_to_be_acknowledged():
    cell = started()
    cell.run(2.0, frozen(0)())
    assert cell.loop.fault.kind == "sensor"
    cell.run(2.0)  # the arm fell while nobody saw it: that motion shows that the encoder lives
    assert (cell.loop.fault, cell.loop.mode) == (None, "follow")
    lying = started()
    lying.run(2.0, spoilt(LIES["the sign"])())
    lying.run(20.0, spoilt(LIES["the sign"])())
    assert lying.loop.fault.phase == "silent"
    lying.run(1.0)  # brakes hold it, so that nothing proves anything
    assert lying.loop.fault.phase == "silent"
    lying.loop.hold(lying.t)
    lying.run(2.0)
    assert (lying.loop.fault, lying.loop.mode) == (None, "follow")


def test_an_arm_that_does_not_follow_is_held_where_it_is():
    """One of its drives is dead."""
    cell = started(safety=SafetySettings(plausibility=False, overspeed=100.0))
    cell.plant.apply = lambda effort, apply=cell.plant.apply: apply(effort * [1.0, 0.0, 1.0])
    assert cell.run(3.0, until=lambda: bool(cell.faults))
    assert kinds(cell) == {"following"}
    assert "from its reference" in cell.faults[0][2]
    assert cell.loop.fault.latched
    with pytest.raises(NotReadyError, match="following"):
        cell.loop.follow(rest_to_rest([cell.plant.q], [1.0]))


def test_an_arm_that_strikes_something_is_held_there():
    cell = started()
    cell.run(0.8)
    cell.plant.reset(cell.plant.q, np.zeros(3))  # a wall
    cell.run(0.3)
    assert kinds(cell) == {"following"}
    assert "changes its speed" in cell.faults[0][2]


IN_ORDER = {
    "noise": {"noise": 2e-4, "resolution": 5e-4},
    "coarse encoders": {"resolution": 3e-3},
    "delay": {"delay": 4},
    "100 Hz": {"period": 0.01},
    "friction": {"friction": 0.05},
    "more friction": {"friction": 0.08},
    "soft PD": {"law": "pd", "frequency": 5.0},
    "gravity compensation": {"law": "gravity_compensation", "friction": 0.05},
    "impedance": {"law": "impedance", "noise": 1e-4},
    "stiff": {"frequency": 25.0},
    "armature": {"truth": "armature"},
    "payload": {"truth": "payload"},
    "heavier": {"truth": "gravity"},
}


def truth(robot, name):
    if name == "armature":
        return {"armature": np.full(robot.n, 0.1)}
    if name == "payload":
        return {"payload": rd.Payload(robot.joints[-1].child, 1.0, (0.0, 0.0, 0.05))}
    return {"gravity": (0.0, 0.0, -1.1 * 9.81)} if name == "gravity" else {}


@pytest.mark.parametrize("case", IN_ORDER)
@pytest.mark.parametrize(
    "name", ["prr", *(pytest.param(name, marks=pytest.mark.thorough) for name in ARMS if name != "prr")]
)
def test_an_arm_in_order_is_believed(name, case):
    """Friction that no model knows, a payload that nobody told of, masses that are wrong, noise, delay, soft gains."""
    robot, options = ARMS[name], dict(IN_ORDER[case])
    if "friction" in options:
        # No more than the gains overcome: a joint that sticks beyond that does not follow.
        pull = 5.0 * np.diagonal(rd.create_dynamics("rnea", robot).mass_matrix(robot.home))
        sticks = np.minimum(options["friction"] * robot.effort_limit, pull)
        options["friction"] = [
            FrictionSettings(0.02 * most, one) for most, one in zip(robot.effort_limit, sticks, strict=True)
        ]
    options["truth"] = truth(robot, options.pop("truth", ""))
    cell = Cell(robot, **options)
    cell.run(4.0)
    assert not {kind for kind in kinds(cell) if kind in ("sensor", "following", "rate")}, cell.faults[0]


@pytest.mark.parametrize(
    "times", [10.0, *(pytest.param(one, marks=pytest.mark.thorough) for one in (0.0, 0.3, 1.0, 3.0))]
)
@pytest.mark.parametrize("law", ["computed_torque", pytest.param("gravity_compensation", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "name", ["prr", *(pytest.param(name, marks=pytest.mark.thorough) for name in ARMS if name != "prr")]
)
def test_friction_that_is_not_what_the_model_says_is_no_dead_encoder(name, law, times):
    """The URDF says 1 % of the effort limit; the arm has from none to ten times that, and more of it at rest."""
    robot = ARMS[name]
    said = 0.01 * robot.effort_limit
    friction = [FrictionSettings(0.005 * most, times * 0.01 * most) for most in robot.effort_limit]
    kind = load("controllers", law)

    def make_law(model):
        model.configure(coulomb=said)
        return kind(model, *gains(kind, model, robot.home, 10.0, 1.0))

    cell = Cell(robot, friction=friction, make_law=make_law)
    cell.run(6.0)
    assert not kinds(cell) & {"sensor", "following"}, cell.faults[0]


@pytest.mark.parametrize("number", [9, 27, 231])
def test_an_unknown_payload_that_holds_a_joint_while_others_move_is_no_dead_encoder(number):
    """Cases of the robustness study in which the load of the wrist grows with the effort that its error asks for."""
    study = read_study(ROOT / "examples" / "robustness" / "prr.yaml")
    (case,) = study.cases(number, 1)
    row = CaseRunner(study).row(case)
    assert row["compiled"] and not row["failed"], row["failed"]


class Starved(Cell):
    """A loop that waits for the processor now and then, and drives that brake where no command has come for a while.

    Attributes:
        brakes: how often they have closed.
    """

    def __init__(self, robot, stalls, *, late=0, timeout=0.03, **options):
        """
        Args:
            robot: the arm.
            stalls: yields how many states are answered, and for how many periods nothing is, by turns.
            late: periods from a command to the drives, for the first commands after a stall [-].
            timeout: of the drives [s].
        """
        super().__init__(robot, **options)
        self._stalls, self._late, self._timeout = stalls, late, timeout
        self._answered, self._stalled = next(stalls)
        self._due, self._commanded, self._lateness, self.brakes = [], self.t, 0, 0

    def _answer(self, states):
        if self._answered > 0:
            self._answered -= 1
            before = self._sent
            super()._answer(states)
            command, self._sent = self._sent, before
            self._due.append((self.t + self._lateness * self.period, command))
            self._lateness = max(self._lateness - 1, 0)
        elif self._stalled > 0:
            self._stalled -= 1
        else:
            (self._answered, self._stalled), self._lateness = next(self._stalls), self._late
            self._answer(states)

    def _move(self):
        while self._due and self._due[0][0] <= self.t + 1e-9:
            self._sent, self._commanded = self._due.pop(0)[1], self.t
        if self._sent is not None and self.t - self._commanded > self._timeout:
            self.brakes += 1
            self.plant.reset(self.plant.q, np.zeros(self.robot.n))
            self.t += self.period
            return
        super()._move()


def regular(answered, stalled):
    while True:
        yield answered, stalled


def random_stalls(seed, longest):
    random = np.random.default_rng(seed)
    while True:
        yield int(random.integers(1, 120)), int(random.integers(0, longest))


STALLS = {
    "now and then": lambda: regular(150, 40),
    "often": lambda: regular(40, 25),
    "most of the time": lambda: regular(6, 30),
    "random": lambda: random_stalls(3, 45),
    "random, long": lambda: random_stalls(4, 200),
    "random, short": lambda: random_stalls(5, 12),
}


@pytest.mark.parametrize("late", [4, pytest.param(0, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "pattern", [pytest.param(name, marks=[] if "random" in name else pytest.mark.thorough) for name in STALLS]
)
def test_a_loop_that_starves_takes_no_joint_for_one_with_a_dead_encoder(pattern, late):
    """The brakes close while commands wait; the arm stands then although it is driven, and stops as no drive could."""
    safety = SafetySettings(state_timeout=1.0, recurrences=1000, following_tolerance=0.0)
    cell = Starved(PRR, STALLS[pattern](), late=late, safety=safety)
    cell.run(6.0)
    assert cell.brakes > 0 or pattern == "random, short"
    assert not kinds(cell) & {"sensor", "following"}, next(one for one in cell.faults if one[1] != "rate")


@pytest.mark.parametrize(
    "pattern",
    [
        "now and then",
        "random",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("often", "random, short")),
    ],
)
@pytest.mark.parametrize(
    "joint", [0, pytest.param(1, marks=pytest.mark.thorough), pytest.param(2, marks=pytest.mark.thorough)]
)
def test_a_dead_encoder_is_found_by_a_loop_that_starves(pattern, joint):
    safety = SafetySettings(state_timeout=1.0, following_tolerance=0.0)
    cell = Starved(PRR, STALLS[pattern](), safety=safety)
    cell.run(BEGIN)
    cell.clear()
    cell.run(3.0, frozen(joint)())
    assert "sensor" in kinds(cell)


def test_an_arm_that_leans_on_its_stop_or_is_not_driven_is_believed():
    cell = Cell(PRR)
    cell.swings = False
    cell.plant.reset([0.0, -1.0, 0.2], np.zeros(3))
    cell.run(0.2)
    cell.loop.track(
        rd.control.Reference(np.array([0.0, -1.0, 0.2]), *np.zeros((2, 3)), np.array([-400.0, 0.0, 0.0])), cell.t
    )
    cell.run(0.4)
    assert not cell.faults


def test_it_can_be_switched_off():
    cell = started(safety=SafetySettings(plausibility=False, following_tolerance=0.0))
    cell.run(0.3, spoilt(LIES["zero"])())
    assert not kinds(cell) & {"sensor", "following"}


def test_the_table_has_every_row_of_the_contract_that_can_be_injected_between_arm_and_loop():
    page = (ROOT / "docs/safety.md").read_text(encoding="utf-8")
    titles = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("|")}
    assert {scenario.row for scenario in SCENARIOS} <= titles
    row = measure(SCENARIOS[0], PRR)
    assert (row.answer, row.back) == ("states", "by itself")
    assert 0.05 < row.detected < 0.13
