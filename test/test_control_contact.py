# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What touches the arm: the momentum observer beside Pinocchio, contacts as faults, and the ways back."""

import copy
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import PRR
from broken_dynamics import Faultless
from industrial import urdfs
from numpy.testing import assert_allclose
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, rest_to_rest
from robodyn_ros.control.contact import Contact, ContactThresholds, contact_of
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.faults.table import TO_CONTACT, FaultReactions
from robodyn_ros.control.loop_settings import loop_default_values
from robodyn_ros.control.momentum_observer import ForceTorqueSensor, MomentumObserver, wrench_at
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.kinematics import Kinematics, so3
from robodyn_ros.robot.robot import tip
from robodyn_ros.simulation import Plant, PlantSettings

URDF = Path(__file__).parents[1] / "urdf"
ARMS = {"prr": (URDF / "prr.urdf").read_text()}
ARMS |= {name: path.read_text() for name, path in urdfs().items() if name in ("ur5_robot", "panda")}
POSES = {"ur5_robot": [0.3, -1.1, 1.5, 0.4, 1.2, 0.2]}
"""Where an arm is not near a singular pose."""

PERIOD = 1e-3
NO_LIMIT = np.inf


SAFETY = SafetySettings(plausibility=False, externally_supported=True, soft_limit_margin=0.0, following_tolerance=0.0)


class Bench:
    """An arm under a control loop, period by period; the arm may differ from its model."""

    def __init__(self, text: str, law: str = "computed_torque", **options: Any) -> None:
        robot = rd.load_robot(text)
        self.robot, self.n = robot, robot.n
        dynamics = options.pop("model", RNEA)(robot)
        self.observer = MomentumObserver(dynamics, options.pop("link", ""), options.pop("gain", 30.0))
        contact = Contact(self.observer, options.pop("thresholds", thresholds(robot.n)))
        given = options.pop("rest", None)
        safety = options.pop("safety", SAFETY)
        self.loop = ControlLoop(
            rd.create_controller(law, dynamics, 100.0, 20.0), np.full(robot.n, 1e4), safety, contact=contact,
            velocity_limit=np.full(robot.n, 1e3), **options,
        )  # fmt: skip
        rest = np.where(np.isfinite(robot.lower + robot.upper), (0.4 * robot.lower + 0.6 * robot.upper), 0.3)
        rest = rest if given is None else np.array(given)
        real = rd.create_dynamics("rnea", rd.load_robot(text))
        self.plant = Plant(real, PlantSettings(PERIOD), np.full(robot.n, np.inf), rest,
                           velocity_limit=np.full(robot.n, np.inf))  # fmt: skip
        self.steps, self.phases = 0, [""]
        self.command: Any = None

    @property
    def t(self) -> float:
        return 10.0 + self.steps * PERIOD

    def run(self, duration: float, until: Any = None) -> None:
        for _ in range(round(duration / PERIOD)):
            self.command = self.loop.update(self.t, self.t, self.plant.q, self.plant.qd)
            self.plant.apply(np.zeros(self.n) if self.command is None else self.command.effort)
            self.plant.step()
            self.steps += 1
            fault = self.loop.fault
            self.phases.append("" if fault is None else f"{fault.kind} {fault.phase}")
            if until is not None and until():
                return
        assert until is None, "it did not happen"

    @property
    def efforts(self) -> np.ndarray:
        return self.loop.external[: self.n]

    @property
    def wrench(self) -> np.ndarray:
        return self.loop.external[self.n : -2]

    def push(self, force: Any, torque: Any = (0.0, 0.0, 0.0)) -> None:
        self.plant.outside.push(tip(self.robot), force, torque)


def thresholds(n: int, touch: Any = NO_LIMIT, collision: Any = NO_LIMIT, **others: Any) -> ContactThresholds:
    values = {"touch_wrench": np.full(2, np.inf), "collision_wrench": np.full(2, np.inf), "energy": np.inf} | others
    return ContactThresholds(np.full(n, touch) + 0.0, np.full(n, collision) + 0.0, **values)


@pytest.mark.parametrize("name", ARMS)
def test_a_push_is_found_as_pinocchio_has_it(name: str) -> None:
    bench = Bench(ARMS[name], rest=POSES.get(name))
    rng = np.random.default_rng(4)
    force, torque = rng.uniform(-9.0, 9.0, 3), rng.uniform(-2.0, 2.0, 3)
    bench.run(0.2)
    assert_allclose(bench.efforts, 0.0, atol=1e-3)
    bench.push(force, torque)
    bench.run(1.6)
    pinocchio, tool, q = Pinocchio(bench.robot, (0.0, 0.0, -9.81)), tip(bench.robot), bench.plant.q
    jacobian, rotation = pinocchio.jacobian(tool, q), pinocchio.pose(tool, q)[:3, :3]
    wrench = np.concatenate((rotation @ force, rotation @ torque))
    expected = jacobian.T @ wrench
    assert_allclose(bench.efforts, expected, atol=2e-3 * np.abs(expected).max())
    feels = np.linalg.matrix_rank(jacobian, tol=1e-9)
    if feels == 6:
        assert_allclose(bench.wrench, wrench, atol=5e-3 * np.abs(wrench).max())
    else:  # what the arm can feel of it: the wrench that is observed has the same efforts, and nothing else
        assert_allclose(jacobian.T @ bench.wrench, expected, atol=5e-3 * np.abs(expected).max())
        assert_allclose(bench.wrench[np.abs(jacobian).max(1) < 1e-12], 0.0, atol=1e-12)
    assert_allclose(bench.command.external[: bench.n], bench.efforts, rtol=1e-12)


def test_the_observer_is_a_first_order_filter_of_what_acts_while_the_arm_moves() -> None:
    """ṙ = K (τ_ext - r), with τ_ext of the moving arm integrated beside it."""
    bench = Bench(PRR, gain=25.0)
    bench.run(0.1)
    bench.loop.follow(rest_to_rest([bench.plant.q + [0.3, -0.5, 0.7]], [1.0]))
    kinematics, expected, errors = Kinematics(bench.robot, compiled=False), np.zeros(3), []
    for step in range(900):
        if step == 300:
            bench.push((4.0, 0.0, -7.0), (0.0, 1.5, 0.0))
        bench.run(PERIOD)
        jacobian = kinematics.jacobian(tip(bench.robot), bench.plant.q, "body")
        acts = jacobian.T @ [4.0, 0.0, -7.0, 0.0, 1.5, 0.0] if step >= 300 else np.zeros(3)
        errors.append(np.abs(bench.efforts - expected).max())  # observed at the state before this step
        expected = expected + (1.0 - np.exp(-25.0 * PERIOD)) * (acts - expected)
    assert max(errors) < 0.02 * np.abs(expected).max()


def test_compiled_and_in_numbers_the_observer_does_the_same() -> None:
    for name in ARMS.keys() - {"panda"}:
        dynamics = rd.create_dynamics("rnea", rd.load_robot(ARMS[name]))
        n, rng = dynamics.robot.n, np.random.default_rng(3)
        one, other = (MomentumObserver(dynamics) for _ in range(2))
        other._kernel = None
        for dt in (-1.0, 1e-3, 1e-3, 4e-3):
            given = dt, *rng.uniform(-0.7, 0.7, (3, n))
            assert_allclose(one.update(*given), other.update(*given), rtol=1e-9, atol=1e-9)
        one.tare(one.efforts.copy())
        assert_allclose(one.update(1e-3, *given[1:]) - one.found, 0.0)


def test_with_a_model_in_python_the_loop_feels_the_same_and_begins_anew_where_the_model_fails() -> None:
    found = []
    for model in (RNEA, Faultless):
        bench = Bench(ARMS["prr"], "pd", model=model)
        bench.push((30.0, -2.0, 5.0))
        bench.run(0.3)
        found.append(bench.loop.external)
    assert np.abs(found[0][: bench.n]).min() > 1.0
    assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)
    bench.loop.dynamics.coriolis_matrix = lambda *_: 1 / 0  # this law does not call it
    bench.run(PERIOD)
    assert not bench.loop.external.any() and bench.loop.fault is None


def test_after_a_stop_nobody_is_felt_until_a_state_has_come() -> None:
    bench = Bench(PRR)
    bench.push([8.0, 0.0, 0.0])
    bench.run(0.5)
    assert np.abs(bench.efforts).max() > 1.0
    bench.loop.stop()
    assert not bench.loop.external.any()


def test_friction_that_the_model_knows_is_nobody() -> None:
    robot = rd.load_robot(PRR)
    dynamics = rd.create_dynamics("rnea", robot, viscous=[3.0, 0.2, 0.1], coulomb=[5.0, 0.4, 0.3])
    knows, does_not = MomentumObserver(dynamics), MomentumObserver(dynamics, friction=False)
    q, qd = np.array([0.2, 0.3, -0.4]), np.array([0.5, -0.6, 0.7])
    friction = dynamics.parameters.viscous * qd + dynamics.parameters.coulomb * np.sign(qd)
    steady = dynamics.inverse(q, qd, np.zeros(3))  # without friction
    for observer in (knows, does_not):
        observer.update(-1.0, q, qd, steady)
        for _ in range(400):  # a state that stands still in time: Cᵀ q̇ counts as -Ṁ q̇ does not come
            observer.update(1e-3, q, qd, steady + friction)
    assert_allclose(does_not.efforts - knows.efforts, -friction, rtol=1e-4)


def test_energy_and_effective_mass_are_those_of_the_motion() -> None:
    """E = ½ m v² for a cart of 2.5 kg along its rail; at a standstill there is none."""
    robot = rd.load_robot(
        '<robot name="cart"><link name="rail"/><link name="cart"><inertial><mass value="2.5"/><inertia ixx="1" iyy="1"'
        ' izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="prismatic"><parent link="rail"/>'
        '<child link="cart"/><axis xyz="0.6 0.8 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>'
        "</robot>"
    )
    observer = MomentumObserver(rd.create_dynamics("rnea", robot))
    found = observer.update(-1.0, np.zeros(1), np.array([0.7]), np.zeros(1))
    assert_allclose(found[-2:], [0.5 * 2.5 * 0.49, 2.5])
    assert_allclose(observer.update(-1.0, np.zeros(1), np.zeros(1), np.zeros(1))[-2:], 0.0)


def test_tare_takes_away_a_payload_that_nobody_told_of() -> None:
    bench = Bench(PRR, thresholds=thresholds(3, touch=5.0))
    bench.run(0.3)
    bench.plant.outside.push(tip(bench.robot), (0.0, 0.0, -4.0))
    bench.run(0.5)
    before = bench.efforts.copy()
    assert np.abs(before).max() > 1.0
    for _ in range(2):  # as while a simulation is paused: the second time adds nothing
        bench.loop.tare()
    bench.run(0.1)
    assert_allclose(bench.efforts, 0.0, atol=2e-2 * np.abs(before).max())
    bench.loop.apply(bench.loop.settings)  # the bias outlives other settings
    bench.run(0.1)
    assert_allclose(bench.efforts, 0.0, atol=2e-2 * np.abs(before).max())


def test_tare_without_an_observer_or_a_state_is_refused() -> None:
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    loop = ControlLoop(
        rd.create_controller("pd", dynamics, 1.0, 1.0), np.full(3, 1e3), SafetySettings(externally_supported=True)
    )
    with pytest.raises(NotReadyError, match="observe"):
        loop.tare()
    with pytest.raises(NotReadyError, match="no valid joint state"):
        Bench(PRR, thresholds=thresholds(3, touch=5.0)).loop.tare()


# Contacts as faults

PUSH = (0.0, 0.0, 30.0)
AWAY = (0.0, 0.0, 0.0)
FORCE = np.array([12.0, np.inf])
BOUNDS = {
    ("touch", "joints"): thresholds(3, touch=6.0),
    ("collision", "joints"): thresholds(3, touch=3.0, collision=6.0),
    ("collision", "wrench"): thresholds(3, touch_wrench=FORCE / 2.0, collision_wrench=FORCE),
}


def pushed(reaction: str, kind: str = "touch", **options: Any) -> Bench:
    """An arm that moves upwards when it is pushed, and has just begun to react."""
    reactions = FaultReactions(touch=(reaction, 2.0), collision=(reaction, 2.0))
    bench = Bench(PRR, reactions=reactions, thresholds=BOUNDS[kind, "joints"], **options)
    bench.run(0.1)
    bench.start = bench.plant.q.copy()
    bench.loop.follow(rest_to_rest([bench.plant.q + [0.3, 0.4, -0.5]], [1.0]))
    bench.run(0.5)
    bench.push(PUSH)
    bench.run(0.5, lambda: bench.loop.fault is not None and bench.loop.fault.kind == kind)
    bench.found = bench.plant.q.copy()
    return bench


def injected(reaction: str, kind: str, threshold: str) -> list[str]:
    """A reaction to a push that begins while the arm moves: phases and efforts, period by period, until all is well.

    The push goes away before the reaction expires for the first time; the second stays. The efforts of the joints, or
    the wrench at the tool, are beyond the threshold of one level.
    """
    reactions = FaultReactions(touch=(reaction, 0.7), collision=(reaction, 0.7))
    safety = replace(SAFETY, settled_time=0.3, following_tolerance=SafetySettings().following_tolerance)
    bench = Bench(PRR, reactions=reactions, thresholds=BOUNDS[kind, threshold], safety=safety)
    bench.run(0.1)
    bench.loop.follow(rest_to_rest([bench.plant.q + [0.3, 0.4, -0.5]], [1.0]))
    bench.run(0.4)
    for push, duration in ((PUSH, 0.15), (AWAY, 0.7), (PUSH, 0.9)):
        bench.push(push)
        bench.run(duration)
    return bench.phases


@pytest.mark.parametrize(("kind", "threshold"), [("touch", "joints"), ("collision", "wrench")])
@pytest.mark.parametrize("reaction", TO_CONTACT)
def test_each_reaction_at_each_level_ends_and_recovers(reaction: str, kind: str, threshold: str) -> None:
    phases = injected(reaction, kind, threshold)
    told = [phase for before, phase in pairwise(phases) if phase != before]
    levels = ["touch", "collision"][: 1 + (kind == "collision")]
    begins = [f"{level} {reaction}" for level in levels]
    if reaction == "silent":  # in silence nothing is observed: quiet ends it, and the push is found anew
        assert told[:3] == [begins[0], "", begins[0]]
    else:
        ends = [] if reaction == "wait" else [f"{kind} silent"]
        assert told == [*begins, "", *begins, *ends]


def test_a_floating_arm_gives_way_and_a_held_one_comes_back() -> None:
    float_, hold = pushed("float"), pushed("hold")
    for bench in (float_, hold):
        bench.run(0.5)
    moved = [np.abs(bench.plant.q - bench.found).max() for bench in (float_, hold)]
    assert float_.loop.fault.phase == "float"
    assert moved[0] > 3.0 * moved[1]
    float_.push(AWAY)
    float_.run(0.5)
    assert_allclose(float_.plant.qd, 0.0, atol=0.02)  # it stays where it was pushed to: no spring pulls it back


def test_a_retreat_goes_back_the_way_that_the_arm_came() -> None:
    bench = pushed("retreat")
    bench.push(AWAY)
    path = bench.found - bench.start
    bench.run(1.5)
    assert bench.loop.fault.phase == "retreat"
    left = bench.plant.q - bench.start
    assert_allclose(left / path, 0.0, atol=0.1)  # the way of the last 0.6 s is nearly all of it
    bench.loop.hold(bench.t)
    bench.run(0.1)
    assert bench.loop.fault is None  # acknowledged


@pytest.mark.parametrize("kind", ["touch", "collision"])
def test_on_the_way_back_a_retreat_only_carries_the_arm(kind: str) -> None:
    """It eases in, and goes on at the speed at which the arm came. A second one stays where it begins."""
    bench = pushed("retreat", kind)
    memory, gravity = bench.loop.core.state, bench.loop.dynamics.gravity
    trail, last, begin = memory.trail.reshape(-1, 3).copy(), int(memory.trail_last), float(memory.active_begin)
    path = np.array([memory.found, *(trail[(last - k) % len(trail)] for k in range(int(memory.trail_count)))])
    assert (len(path) > 1) == (kind == "touch")
    for since in np.arange(0.005, 0.8, 0.005):
        place = (since**2 / 0.2 if since < 0.1 else since - 0.05) / 0.02
        q = [np.interp(place, np.arange(len(path)), column) for column in path.T]
        effort = bench.loop.update(begin + since, begin + since, q, np.zeros(3)).effort
        assert_allclose(effort, gravity(np.array(q)), atol=1e-6)


def test_a_touch_that_becomes_a_collision_stays_one_until_it_has_been_quiet() -> None:
    reactions = FaultReactions(touch=("hold", 9.0), collision=("float", 9.0))
    bench = Bench(PRR, reactions=reactions, thresholds=thresholds(3, touch=1.5, collision=6.0))
    bench.run(0.1)
    bench.push((0.0, 0.0, 8.0))
    bench.run(0.5)
    assert bench.loop.fault.kind == "touch"
    bench.loop.set_contact("touch", "by a skin")
    bench.run(0.1)
    bench.push((0.0, 0.0, 30.0))
    bench.run(0.5)
    assert bench.loop.fault.kind == "collision" and "external" in bench.command.problem
    bench.push((0.0, 0.0, 8.0))
    bench.run(0.5)
    assert (bench.loop.fault.kind, bench.loop.fault.phase) == ("collision", "float")


def only(joint: int) -> dict[str, Any]:
    return {"touch": np.where(np.arange(3) == joint, 1.0, 100.0)}


@pytest.mark.parametrize(
    ("bounds", "push", "text"),
    [
        *((only(k), ((7.0, 0.0, 9.0), AWAY), f"the external effort of joint 'joint{k + 1}' is") for k in range(3)),
        ({"touch_wrench": np.array([4.0, 100.0])}, ((6.0, 0.0, 0.0), AWAY), "the external force"),
        ({"touch_wrench": np.array([100.0, 3.0])}, (AWAY, (0.0, 4.0, 0.0)), "the external torque"),
    ],
)
def test_each_joint_and_force_and_torque_at_the_tool_have_thresholds_of_their_own(bounds, push, text) -> None:
    bench = Bench(PRR, thresholds=thresholds(3, **bounds))
    bench.run(0.1)
    bench.push(*push)
    bench.run(0.5, lambda: bench.loop.fault is not None)
    assert bench.loop.fault.kind == "touch"
    assert text in bench.command.problem


def test_too_much_energy_is_too_fast() -> None:
    bench = Bench(PRR, thresholds=thresholds(3, energy=0.3))
    bench.run(0.1)
    bench.loop.follow(rest_to_rest([bench.plant.q + [0.5, 0.0, 0.0]], [0.8]))
    bench.run(0.8, lambda: bench.loop.fault is not None)
    assert (bench.loop.fault.kind, bench.loop.fault.phase) == ("speed", "hold")
    assert "energy" in bench.command.problem
    assert bench.command.external[-2] > 0.3


def test_what_somebody_else_feels_is_a_contact_too() -> None:
    bench = Bench(PRR)
    bench.run(0.1)
    bench.loop.set_publisher_conflict("another fault before")
    bench.run(0.01)
    bench.loop.set_publisher_conflict("")
    bench.loop.set_contact("collision", "the sensor says so")
    bench.run(0.01)
    assert (bench.loop.fault.kind, bench.command.problem.split(" (")[0]) == ("collision", "the sensor says so")
    bench.loop.set_contact("")
    bench.run(3.2)
    assert bench.loop.fault is None


def test_what_was_estimated_elsewhere_may_be_of_any_numbers() -> None:
    bench = Bench(PRR, thresholds=thresholds(3, collision=5.0))
    for efforts in ([0, 9, 0], np.array([0.0, 9.0, 0.0], np.float32)):
        bench.loop.judge_contact(efforts, [0] * 6)
        assert bench.loop.contact == "collision"
        bench.loop.judge_contact(np.zeros(3), np.zeros(6))
        assert bench.loop.contact == ""
    with pytest.raises(InputError, match="must be 3 and 6 numbers"):
        bench.loop.judge_contact(np.zeros(3), np.zeros(5))
    with pytest.raises(InputError, match="collision"):
        bench.loop.set_contact("bump")
    assert bench.loop.contact == ""


def test_a_state_that_the_observer_cannot_bear_leaves_nothing_behind() -> None:
    """The squares of such a velocity are no numbers; the next push is felt all the same."""
    bench, spared = (Bench(PRR, safety=replace(SAFETY, overspeed=100.0)) for _ in range(2))
    bench.run(0.1)
    bench.loop.update(bench.t, bench.t, bench.plant.q, np.full(3, 1e160))
    bench.steps += 1
    assert not bench.loop.external.any()
    for one in (bench, spared):
        one.run(1.0)
        assert_allclose(one.efforts, 0.0, atol=0.05)
        one.push(PUSH)
        one.run(1.0)
    assert np.abs(spared.efforts).max() > 5.0
    assert_allclose(bench.efforts, spared.efforts, atol=0.05 * np.abs(spared.efforts).max())


def test_settings_are_made_of_values_by_name() -> None:
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    _, second, third = dynamics.robot.joint_names
    values = loop_default_values(dynamics.robot)
    assert contact_of(FileParameters({}, values), dynamics) is None
    values |= {"contact.observe": "tool", f"contact.{second}.touch": 4.0, f"contact.{third}.collision": 9.0}
    values |= {"contact.collision_wrench": [50.0, 0.0], "contact.energy": 2.0}
    found = contact_of(FileParameters({}, values), dynamics)
    assert found is not None
    assert found.thresholds.touch.tolist() == [np.inf, 4.0, np.inf]
    assert found.thresholds.collision.tolist() == [np.inf, np.inf, 9.0]
    assert found.thresholds.collision_wrench.tolist() == [50.0, np.inf]
    assert found.thresholds.energy == 2.0
    with pytest.raises(InputError, match="link"):
        contact_of(FileParameters({"tool": "no such link"}, values), dynamics)


def test_a_sensor_feels_what_touches_the_tool_and_not_its_weight() -> None:
    """A tool of 0.8 kg that is turned in all directions; a wrench about the sensor's origin is one at the tool's."""
    rng, gravity, com = np.random.default_rng(6), np.array([0.3, -0.2, -9.7]), np.array([0.05, -0.02, 0.11])
    sensor = ForceTorqueSensor(0.8, com)
    for phi in rng.uniform(-2.0, 2.0, (5, 3)):
        rotation = so3.exp(phi)
        weight = 0.8 * rotation.T @ gravity
        force, torque = rng.uniform(-5.0, 5.0, (2, 3))
        reading = np.concatenate((weight + force, np.cross(com, weight) + torque))
        assert_allclose(sensor.external(reading, rotation, gravity), [*force, *torque], atol=1e-12)
    sensor.tare()
    assert_allclose(sensor.external(reading, rotation, gravity), 0.0, atol=1e-12)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = so3.exp([0.4, 0.1, -0.3]), [0.2, 0.5, -0.1]
    twist = rng.uniform(-1.0, 1.0, 6)  # of the second frame; power does not depend on where it is looked at
    own = np.concatenate((pose[:3, :3].T @ (twist[:3] + np.cross(twist[3:], pose[:3, 3])), pose[:3, :3].T @ twist[3:]))
    wrench = rng.uniform(-3.0, 3.0, 6)
    assert wrench @ own == pytest.approx(wrench_at(pose, wrench) @ twist)


def test_arms_that_differ_in_their_tool_alone_have_code_of_their_own() -> None:
    """The same joints and bodies, and a tool that is fixed elsewhere: the same efforts are another wrench."""
    text, found = ARMS["prr"], []
    for offset in ("0.15 0 0", "0.35 0 0"):
        ends = '<parent link="tool"/><child link="far"/>'
        joint = f'<link name="far"/><joint name="far" type="fixed">{ends}<origin xyz="{offset}"/></joint>'
        robot = rd.load_robot(text.replace("</robot>", f"{joint}</robot>"))
        dynamics = rd.create_dynamics("rnea", robot)
        observer = MomentumObserver(dynamics, "far")
        q, qd = np.array([0.2, 0.5, -0.7]), np.array([0.1, 0.4, 0.3])
        observer.update(-1.0, q, qd, np.zeros(3))
        linear = Kinematics(robot, compiled=False).jacobian("far", q)[:3]
        mobility = linear @ np.linalg.solve(dynamics.mass_matrix(q), linear.T)
        u = linear @ qd / np.linalg.norm(linear @ qd)
        found.append(1.0 / (u @ mobility @ u))
        assert observer.found[-1] == pytest.approx(found[-1])
    assert found[0] != pytest.approx(found[1], rel=0.01)


@pytest.mark.parametrize("tool", [True, False])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_of_an_observer_has_memory_of_its_own_and_goes_on_alike(copied, tool):
    dynamics, n = rd.create_dynamics("rnea", rd.load_robot(ARMS["prr"])), 3
    observer, straight = (MomentumObserver(dynamics, gain=17.0, tool=tool, friction=False) for _ in range(2))
    states = np.random.default_rng(3).uniform(-0.5, 0.5, (4, 3, n))

    def made(one, *indices):
        return [one.update(PERIOD, *states[index]).copy() for index in indices]

    expected = made(straight, 0, 1, 2)[1:]
    made(observer, 0)
    observer.tare(np.array([0.1, -0.2, 0.3]))
    other = copied(observer)
    assert_allclose(other.found, observer.found, rtol=0.0)
    made(other, 3, 0, 3)
    other.bias[:] = 7.0
    observer.bias[:] = 0.0
    assert_allclose(made(observer, 1, 2), expected, rtol=0.0)
    assert other.link == observer.link
