# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Both formulations against Pinocchio and MuJoCo.

The arms are those that trip implementations up, 200 arms drawn at random, and every robot of the industry at hand.

Agreement is to 1e-10 relative to the largest number that a result is made of. Most arms run on the virtual machine,
where nothing need be compiled.
"""

from itertools import product

import casadi as ca
import numpy as np
import pytest
from arms import OURS, awkward, mechanism, random_robot
from industrial import urdfs
from numpy.testing import assert_allclose
from truth import Pinocchio
from truth_mujoco import MuJoCo

import robodyn_ros as rd
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.rnea import solve_articulated
from robodyn_ros.engine.tracing import solve_symmetric

pytestmark = pytest.mark.filterwarnings("ignore::robodyn_ros.errors.RobotDescriptionWarning")

GRAVITY = (0.4, -1.3, -9.6)  # [m/s²], along no axis
TOLERANCE = 1e-10
MANY_JOINTS = 9  # the Lagrangian's expressions grow with the square of the joints and more; rnea goes on alone

NAMED = {kind: mechanism(kind) for kind in ("R", "PR", "RR", "PRR")} | awkward() | OURS
INDUSTRIAL = (
    *("ur5_gripper", "panda", "kinova", "so101", "talos_left_arm", "hextilt_flying_arm_5", "finger_edu", "baxter"),
    "double_pendulum_continuous",
)
"""Serial arms (Baxter has two of them)."""
VARIANTS = (
    *("ur3_joint_limited_robot", "ur3_gripper", "ur5_robot", "ur5_joint_limited_robot", "ur10_joint_limited_robot"),
    *("panda_collision", "double_pendulum", "double_pendulum_simple", "ur3_robot", "ur10_robot", "xarm7", "z1"),
    *("so100", "borinot_flying_arm_2", "TwoDofs"),
)
"""The same arms with other limits, shapes or grippers, and arms like them."""
REFUSED = {"quadrotor_base": "no joint that moves", "iris_simple": "no joint that moves", "ur3": "has no link"}
"""Robot → why it is refused."""
NO_TREE = {"alex_psyonic_hands": "mimics joint 'index_q1', which does not exist"}
"""Robot → what of it is beside a tree of joints."""
REPAIRED = ("allegro_left_hand", "allegro_right_hand", "hyq_no_sensors", "pr2", "romeo_small")
"""Robots with a moving link whose inertia no body can have."""
MASSLESS = {"romeo": "joint 'LHand'", "romeo_laas_small": "joint 'l_gripper_joint'"}
"""Robot → a joint of it that moves nothing with a mass."""
ROBOTS = urdfs()


def check(
    xml: str, seed: int, names: tuple[str, ...], compiled: bool, accept: tuple[str, ...] = (), states: int = 1
) -> None:
    """Every quantity of the formulations against both truths."""
    robot = rd.load_robot(xml, accept=accept)
    plugins = [rd.create_dynamics(name, robot, gravity=GRAVITY, compiled=compiled) for name in names]
    truths, rest = (Pinocchio(robot, GRAVITY), MuJoCo(robot, GRAVITY)), np.zeros(robot.n)
    for truth, (q, qd, qdd, tau) in product(truths, np.random.default_rng(seed).uniform(-2, 2, (states, 4, robot.n))):
        mass, torque, gravity = truth.mass_matrix(q), truth.inverse(q, qd, qdd), truth.inverse(q, rest, rest)
        acceleration, energy = truth.forward(q, qd, tau), truth.energy(q, qd)
        bias = truth.inverse(q, qd, rest) - gravity
        # Solving M x = b loses digits in proportion to the condition of M, in any library.
        condition = max(1.0, float(np.linalg.cond(mass)) / 1e3)
        for dynamics in plugins:
            label = f"{type(dynamics).__name__} against {type(truth).__name__}"
            agree(dynamics.inverse(q, qd, qdd), torque, label)
            agree(dynamics.mass_matrix(q), mass, label)
            agree(dynamics.gravity(q), gravity, label)
            agree(dynamics.coriolis_matrix(q, qd) @ qd, bias, label, np.abs(torque).max())
            agree(dynamics.energy(q, qd), energy, label)
            agree(dynamics.forward(q, qd, tau), acceleration, label, condition * np.abs(acceleration).max())


def agree(found: object, truth: object, label: str, scale: float = 1.0) -> None:
    scale = max(1.0, scale, float(np.abs(truth).max()))
    assert_allclose(np.asarray(found) / scale, np.asarray(truth) / scale, rtol=0, atol=TOLERANCE, err_msg=label)


def drawn(seed: int) -> str:
    """A chain or a tree; every third one with joints that follow others."""
    branching = 0.0 if seed % 4 == 0 else 0.3
    return random_robot(1000 + seed, joints=2 + seed % 7, branching=branching, mimic=0.35 if seed % 3 == 0 else 0.0)


def formulations(xml: str) -> tuple[str, ...]:
    return ("rnea", "lagrangian") if rd.load_robot(xml).n < MANY_JOINTS else ("rnea",)


SOON, ALL = 12, 200
"""So many random arms belong to every run; the others to ``make test-thorough``."""


@pytest.mark.parametrize(
    "seed", [*range(SOON), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(SOON, ALL))]
)
def test_random_arms(seed: int) -> None:
    names = ("rnea", "lagrangian") if seed % 7 < 4 or seed % 5 == 0 else ("rnea",)
    check(drawn(seed), seed, names, compiled=False)


def test_random_arms_are_of_every_kind() -> None:
    robots = [rd.load_robot(drawn(seed)) for seed in range(ALL // 3)]
    chains = [all(body.parent == k - 1 for k, body in enumerate(robot.bodies)) for robot in robots]
    mimicking = [len(robot.bodies) > robot.n for robot in robots]
    sliding = [{joint.is_prismatic for joint in robot.joints} == {True, False} for robot in robots]
    for share in (chains, mimicking, sliding, [bool(robot.fixed_joints[1:]) for robot in robots]):
        assert 0.2 <= np.mean(share) <= 0.98


@pytest.mark.parametrize(
    ("name", "compiled"), [*product(NAMED, [False]), *product(("prr", "branched", "mimic"), [True])]
)
def test_named_arms(name: str, compiled: bool) -> None:
    check(NAMED[name], 2, ("rnea", "lagrangian"), compiled=compiled, states=5)


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data (PyPI) is not installed")
@pytest.mark.parametrize("name", [*INDUSTRIAL, *(pytest.param(name, marks=pytest.mark.thorough) for name in VARIANTS)])
def test_industrial_arms(name: str) -> None:
    xml = ROBOTS[name].read_text(encoding="utf-8")
    check(xml, 3, formulations(xml), compiled=False)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [name for name in ROBOTS if name not in {*INDUSTRIAL, *VARIANTS, *REFUSED, *NO_TREE, *REPAIRED, *MASSLESS}]
)
def test_other_robots(name: str) -> None:
    """Legs, hands and humanoids, on a fixed base."""
    check(rd.load_robot(ROBOTS[name]).urdf, 5, ("rnea",), compiled=False)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in NO_TREE if name in ROBOTS])
def test_what_is_beside_a_tree_is_ignored_where_the_option_says_so(name: str) -> None:
    said = rf"{NO_TREE[name]}; accept 'closed_loops' to have it move by itself"
    with pytest.raises(rd.RobotDescriptionError, match=said):
        rd.load_robot(ROBOTS[name])
    check(rd.load_robot(ROBOTS[name], accept=["closed_loops", "repaired_inertia"]).urdf, 5, ("rnea",), compiled=False)


@pytest.mark.parametrize("name", [name for name in REFUSED if name in ROBOTS])
def test_what_is_no_arm_is_refused(name: str) -> None:
    with pytest.raises(rd.RobotDescriptionError, match=REFUSED[name]):
        rd.load_robot(ROBOTS[name], accept=["repaired_inertia", "movable_base"])


@pytest.mark.parametrize("name", [name for name in REPAIRED if name in ROBOTS])
def test_impossible_inertias_are_refused_or_repaired(name: str) -> None:
    with pytest.raises(rd.RobotDescriptionError, match="repair"):
        rd.load_robot(ROBOTS[name])
    check(ROBOTS[name].read_text(encoding="utf-8"), 5, ("rnea",), compiled=False, accept=("repaired_inertia",))


@pytest.mark.parametrize("name", [name for name in MASSLESS if name in ROBOTS])
def test_a_joint_that_moves_no_mass_is_named(name: str) -> None:
    robot = rd.load_robot(ROBOTS[name], accept=["repaired_inertia"])
    with pytest.raises(rd.RobotDescriptionError) as error:
        rd.create_dynamics("rnea", robot)
    assert error.value.element == MASSLESS[name]


RECURSIVE = {name: xml for name, xml in awkward().items() if name != "mimic"}  # no recursion sees its closed loop
RECURSIVE |= {"chain": random_robot(4, joints=9, branching=0.0), "tree": random_robot(7, joints=9, branching=0.6)}


@pytest.mark.parametrize("algorithm", ["articulated bodies", "mass matrix"])
@pytest.mark.parametrize("name", RECURSIVE)
def test_each_forward_dynamics_by_itself(name: str, algorithm: str) -> None:
    """The plugin takes the shorter one for an arm, so that hardly an arm of the tests would show the other."""
    robot = rd.load_robot(RECURSIVE[name])
    armature = np.linspace(0.1, 0.2, robot.n)
    dynamics = rd.create_dynamics("rnea", robot, gravity=GRAVITY, compiled=False)
    assert isinstance(dynamics, CompiledDynamics)
    dynamics.configure(armature=armature)
    equations, symbols = dynamics.equations(), [ca.SX.sym(name, robot.n) for name in ("q", "qd", "tau")]
    p = equations.unpack(dynamics.symbols)
    q, qd, tau = symbols
    net = tau - equations.efforts(q, qd, ca.SX.zeros(robot.n), p)
    if algorithm == "articulated bodies":
        expression = solve_articulated(equations.tree, q, net, p.armature, equations.inertias(p)[0])
    else:
        expression = solve_symmetric(equations.mass_matrix(q, p), net)
    forward = ca.Function("forward", symbols, [expression])
    truth = Pinocchio(robot, GRAVITY)
    truth.model.armature = truth.lead @ armature
    for q, qd, tau in np.random.default_rng(5).uniform(-2, 2, (5, 3, robot.n)):
        expected = truth.forward(q, qd, tau)
        agree(forward(q, qd, tau).full().ravel(), expected, algorithm, np.abs(expected).max())
