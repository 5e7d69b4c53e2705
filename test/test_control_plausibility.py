"""States that cannot be true, and arms that do not follow: found on simulated arms, and only where they are.

Each arm swings under its law while a fault of its sensors is injected (benchmarks/faults.py has all of them).
"""

import sys
from pathlib import Path

import industrial
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import SafetySettings, rest_to_rest
from robodyn_ros.errors import NotReadyError
from robodyn_ros.simulation import FrictionSettings

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
@pytest.mark.parametrize("which", ["all", "first"])
@pytest.mark.parametrize("unknown", [0.1, 0.02])
def test_encoders_that_stand_still_are_found_before_the_arm_is_fast(name, which, unknown):
    """Sooner where less friction may be unknown. Nothing here has any, and nothing but the drives' brakes stops it."""
    cell = started(ARMS[name], safety=SafetySettings(unknown_friction=unknown))
    inject, begin = frozen(slice(None) if which == "all" else 0)(), cell.t
    assert cell.run(1.0, inject, until=lambda: bool(cell.faults))
    assert kinds(cell) == {"sensor"}
    assert "stands still" in cell.faults[0][2]
    assert cell.t - begin < 0.6
    most = 3.0 if name == "panda" and unknown == 0.1 else 1.1  # its joints are light for their drives
    assert (cell.speed <= most * cell.limits.velocity).all()
    cell.run(1.0, inject)
    assert kinds(cell) == {"sensor"}
    assert cell.loop.fault.phase == "silent"


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
        share = options["friction"]
        options["friction"] = [FrictionSettings(0.02 * most, share * most) for most in robot.effort_limit]
    options["truth"] = truth(robot, options.pop("truth", ""))
    cell = Cell(robot, **options)
    cell.run(4.0)
    assert not {kind for kind in kinds(cell) if kind in ("sensor", "following", "rate")}, cell.faults[0]


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
