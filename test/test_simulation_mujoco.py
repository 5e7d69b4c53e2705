# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plant in MuJoCo: the same arm, the same limits and friction, contact; and the native plant beside it."""

import itertools
import re
import sys
from pathlib import Path

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.errors import ConfigurationError, SimulationError
from robodyn_ros.simulation import PlantSettings
from robodyn_ros.simulation.plant.base import create_plant
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, StopSettings
from robodyn_ros.simulation.plant.mismatch import Mismatch
from robodyn_ros.simulation.plant.mujoco import MuJoCoModel, MuJoCoPlant, ValidationSettings, validate

URDF = Path(__file__).parents[1] / "urdf"


def both(dynamics, step=1e-4, **options):
    return [create_plant(name, dynamics, PlantSettings(step=step), **options) for name in ("native", "mujoco")]


def test_limits_and_friction_as_far_as_mujoco_has_them():
    """Stops, effort limit, speed limit and Coulomb friction of one joint; MuJoCo's give way by very little."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.slider((-1, 2, 1.5, 12))))
    friction = [FrictionSettings(viscous=0.7, coulomb=3.0)]
    plants = both(dynamics, friction=friction)
    for effort, duration in ((2.5, 0.5), (100.0, 1.0), (0.0, 0.2), (5.0, 2.0), (-6.0, 0.3)):
        for plant in plants:
            plant.apply([effort])
            plant.advance(duration)
        assert plants[0].effort[0] == plants[1].effort[0]
        np.testing.assert_allclose(plants[1].q, plants[0].q, rtol=0, atol=2e-3)
        np.testing.assert_allclose(plants[1].qd, plants[0].qd, rtol=0, atol=2e-2)
    assert plants[0].time == plants[1].time


@pytest.mark.parametrize(("name", "side"), [("shoulder", 1.0), ("wrist", -1.0)])
def test_a_reset_into_a_stop(name, side):
    """The stop takes the velocity into it, by an impulse that acts on the other joints too."""
    robot = rd.load_robot(URDF / "prr.urdf")
    q, qd, joint = np.array([1.0, 0.4, -0.3]), np.array([0.2, 0.5 * side, 0.7 * side]), robot.joint_names.index(name)
    q[joint] = robot.upper[joint] if side > 0.0 else robot.lower[joint]
    native, mujoco = both(rd.create_dynamics("rnea", robot))
    for plant in (native, mujoco):
        plant.reset(q, qd)
        assert plant.qd[joint] == 0.0
    assert np.abs(native.qd - qd).min() > 1e-3
    np.testing.assert_allclose(mujoco.qd, native.qd, rtol=1e-10)


@pytest.mark.parametrize("limits", ['lower="0.3" upper="0.3"', 'upper="0.3"', 'lower="-0.3"'])
def test_ranges_that_mujoco_reads_as_none(limits):
    """One point, or a range of which a limit is left out, which is 0: the joint is pressed against its stop."""
    text = re.sub('lower="[^"]*" upper="[^"]*"', limits, (URDF / "rr.urdf").read_text(), count=1)
    dynamics = rd.create_dynamics("rnea", rd.load_robot(text))
    for side in (-1.0, 1.0):
        native, mujoco = both(dynamics, step=1e-3)
        for plant in (native, mujoco):
            plant.apply([50.0 * side, 0.0])
            plant.advance(0.5)
        assert native.q[0] == (dynamics.robot.lower if side < 0.0 else dynamics.robot.upper)[0]
        np.testing.assert_allclose(mujoco.q[0], native.q[0], atol=2e-3)


@pytest.mark.parametrize(
    ("shape", "height"), [('<sphere radius="0.1"/>', 0.2), ('<capsule radius="0.1" length="0.3"/>', 0.35)]
)
def test_contact(shape, height):
    """A ball on a rail comes to rest on the floor, where the native plant, which knows no contact, goes on falling."""
    ball = arms.link("ball", 1.0, None, (0.01, 0, 0, 0.01, 0, 0.01))
    mesh = '<collision><geometry><mesh filename="nowhere.stl"/></geometry></collision>'  # it is left out
    shape = f"{mesh}<collision><geometry>{shape}</geometry></collision></link>"
    floor = '<link name="base"><collision><geometry><box size="2 2 0.2"/></geometry></collision></link>'
    urdf = arms.robot(
        "ball",
        floor,
        arms.link("lift"),
        ball.replace("</link>", shape),
        arms.joint("post", "fixed", "base", "lift"),
        arms.joint("rail", "prismatic", "lift", "ball", (0, 0, 1), None, None, (-5, 5, 100, 10)),
    )
    # MuJoCo does not let a body touch the one that it is jointed to, unless that is the world, as the base is.
    dynamics = rd.create_dynamics("rnea", rd.load_robot(urdf))
    native, mujoco = both(dynamics, step=1e-3, q0=[1.0])
    apart = MuJoCoPlant(dynamics, PlantSettings(step=1e-3), q0=[1.0], contact=False)
    for plant in (native, mujoco, apart):
        plant.advance(1.0)
    assert mujoco.q[0] == pytest.approx(height, abs=5e-3)
    assert native.q[0] == pytest.approx(1.0 - 0.5 * 9.81, abs=1e-9)
    assert apart.q[0] == pytest.approx(native.q[0], abs=1e-9)


ANTENNA = """<link name="antenna"><inertial><mass value="1e-6"/>
    <inertia ixx="2e-8" ixy="6e-8" ixz="0" iyy="3e-8" iyz="0" izz="4e-8"/></inertial></link>
    <joint name="mast" type="fixed"><parent link="%s"/><child link="antenna"/></joint></robot>"""


@pytest.mark.parametrize("arm", ["tilted", "omitted", "welded", "branched", "gantry", "with antenna", "with rotor"])
def test_parameters_reach_mujoco(arm):
    """Payload, armature, friction, other inertias and gravity; whatever the importer would have made of the arm."""
    robot = rd.load_robot(arms.awkward()["tilted" if arm.startswith("with") else arm])
    if arm == "with antenna":  # a body at rest may have an impossible inertia
        robot = rd.load_robot(robot.urdf.replace("</robot>", ANTENNA % robot.links[0].name))
    if arm == "with rotor":  # an inertia without a mass, which MuJoCo drops
        rotor = ANTENNA.replace("1e-6", "0").replace('ixy="6e-8"', 'ixy="0"').replace("e-8", "e-2")
        robot = rd.load_robot(robot.urdf.replace("</robot>", rotor % robot.links[-1].name))
    n = robot.n
    drawn = Mismatch(mass_spread=0.3, com_spread=0.05, inertia_spread=0.3, payload_mass=0.7).draw(robot, 5)
    dynamics = rd.create_dynamics(
        "rnea",
        robot,
        gravity=(1.0, -2.0, 9.0),
        armature=np.linspace(0.1, 0.4, n),
        viscous=np.ones(n),
        compiled=False,
        **(drawn.parameters if arm != "with rotor" else {}),
    )
    model, rng = MuJoCoModel(dynamics), np.random.default_rng(2)
    q, qd, x = rng.uniform(-0.3, 0.3, (3, n))
    np.testing.assert_allclose(model.mass_matrix(q), dynamics.mass_matrix(q), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.inverse(q, qd, x), dynamics.inverse(q, qd, x), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.forward(q, qd, x), dynamics.forward(q, qd, x), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["fixed", "revolute"])
def test_a_link_with_shapes_and_no_inertial_stays_without_mass(kind):
    """The importer would give it the mass of its shapes, of the density of water."""
    flange = '<link name="flange"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>'
    urdf = arms.robot(
        "pendulum",
        arms.link("base"),
        arms.link("arm", 1.0, (0.1, 0, 0), (0.01, 0, 0, 0.01, 0, 0.01)),
        flange,
        arms.link("hand", 0.5, (0, 0.1, 0), (0.01, 0, 0, 0.01, 0, 0.01)),
        arms.joint("turn", "revolute", "base", "arm", (0, 1, 2)),
        arms.joint("plate", kind, "arm", "flange", (0, 1, 2), (0.2, 0, 0)),
        arms.joint("grasp", "revolute", "flange", "hand", (1, 0, 0)),
    )
    dynamics = rd.create_dynamics("rnea", rd.load_robot(urdf), compiled=False)
    q = np.linspace(0.3, 0.7, dynamics.robot.n)
    model = MuJoCoModel(dynamics, contact=True)
    np.testing.assert_allclose(model.mass_matrix(q), dynamics.mass_matrix(q), rtol=1e-10, atol=1e-15)


def test_what_mujoco_has_not_is_refused():
    dynamics = rd.create_dynamics("rnea", rd.load_robot(URDF / "r.urdf"))
    with pytest.raises(ConfigurationError, match="static_friction"):
        MuJoCoPlant(dynamics, friction=[FrictionSettings(static_friction=1.0)])
    for stop in (StopSettings(restitution=0.5), StopSettings(stiffness=1e3)):
        with pytest.raises(ConfigurationError, match="stops"):
            MuJoCoPlant(dynamics, stops=stop)
    mimic = rd.create_dynamics("rnea", rd.load_robot(arms.awkward()["mimic"]))
    with pytest.raises(ConfigurationError, match="joint 'right_finger' mimics another"):
        MuJoCoPlant(mimic)


def test_attributes_that_the_urdf_leaves_out():
    """Those of an inertia and an axis are 0 and along x, as in the equations; a shape without size is an error."""
    pendulum = """<robot name="p"><link name="base"/><link name="arm"><inertial>
        <origin xyz="0 0.1 -0.2"/><mass value="1.5"/><inertia ixx="0.02" iyy="0.03" izz="0.04"/></inertial>
        <collision><geometry><box/></geometry></collision></link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis/></joint></robot>"""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(pendulum), compiled=False)
    state = np.array([[0.3], [0.7], [-0.2]])
    np.testing.assert_allclose(MuJoCoModel(dynamics).inverse(*state), dynamics.inverse(*state), rtol=1e-12)
    with pytest.raises(ConfigurationError, match=r"MuJoCo cannot take this arm: .*'size'"):
        MuJoCoModel(dynamics, contact=True)


def test_the_state_before_a_step_that_fails_stays():
    """Of many steps too, and the message is about this one."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.slider((-1e9, 1e9, 1.0, 1.0))))
    free = {"effort_limit": [np.inf], "velocity_limit": [np.inf], "q0": [0.0]}
    for plant in both(dynamics, step=1e-3, **free):
        acceleration = dynamics.forward([0.0], [0.0], [1e9])[0]
        plant.apply([1e9])
        with pytest.raises(SimulationError, match=r"from 1e\+06 m/s to 1\.5e\+06 m/s under 1e\+09 N"):
            plant.step(10_000)
        assert plant.time == pytest.approx(int(1e6 / acceleration / 1e-3) * 1e-3)
        assert plant.qd[0] == pytest.approx(acceleration * plant.time, rel=1e-6)


def test_without_mujoco(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    dynamics = rd.create_dynamics("rnea", rd.load_robot(URDF / "r.urdf"))
    with pytest.raises(ConfigurationError, match="pip install mujoco"):
        create_plant("mujoco", dynamics)


def test_validation_agrees():
    config = ValidationSettings(states=20, motions=1, duration=0.5)
    beyond = re.sub('lower="[^"]*" upper="[^"]*"', 'lower="4" upper="6"', (URDF / "rr.urdf").read_text(), count=1)
    tilted = arms.awkward()["tilted"]
    foot = arms.link("foot", 0.0, None, (5e-7, 0, 0, 8e-7, 0, 6e-7)), arms.joint("weld", "fixed", "c", "foot")
    footed = tilted.replace("</robot>", f"{''.join(foot)}</robot>")  # of the robot bolt; MuJoCo drops its inertia
    for arm in (URDF / "prr.urdf", tilted, footed, arms.awkward()["welded"], beyond):
        counted = itertools.count()
        plugin = "rnea" if arm in (tilted, footed) else "lagrangian"
        found = validate(rd.create_dynamics(plugin, rd.load_robot(arm)), config, counted.__next__)
        assert len(found) == 5 and next(counted) == 21
        assert all(comparison.agrees for comparison in found)
        assert all(comparison.error < 1e-11 for comparison in found[:4])


@pytest.mark.parametrize("wrong", ["gravity", "forward", "mass_matrix", "inverse"])
def test_validation_notices_what_is_wrong(wrong):
    """One quantity of the native dynamics off by a millionth."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(URDF / "rr.urdf"))
    right = getattr(dynamics, wrong)
    dynamics.__dict__[wrong] = lambda *values: right(*values) * (1.0 + 1e-6)
    found = validate(dynamics, ValidationSettings(states=10, motions=0))
    names = {"mass_matrix": "mass matrix M", "gravity": "gravity g", "inverse": "inverse dynamics τ"}
    assert next(item.quantity for item in found if not item.agrees) == names.get(wrong, "forward dynamics q̈")


def test_a_motion_shows_what_is_wrong_of_the_native_plant():
    """Its acceleration off by a thousandth of gravity's: a motion of MuJoCo's plant goes elsewhere."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(URDF / "rr.urdf"), compiled=False)
    right, inverse, speeds = dynamics.forward, dynamics.inverse, []

    def recorded(q, qd, qdd):
        speeds.append(float(np.linalg.norm(qd)))
        return inverse(q, qd, qdd)

    dynamics.__dict__["inverse"] = recorded
    config = ValidationSettings(states=1, motions=1, duration=0.1)
    assert validate(dynamics, config)[-1].agrees
    assert speeds[-1] < 0.05 * max(speeds)  # it follows a path, which ends at rest
    dynamics.__dict__["forward"] = lambda q, qd, tau: right(q, qd, tau) + 1e-2
    motion = validate(dynamics, config)[-1]
    assert not motion.agrees
    assert 1e-6 < motion.error < 1e-3  # computed torque at 10 rad/s leaves 1e-2 / 10² at most


def test_parameters_that_change_while_the_arm_moves():
    """As those of a held joint whose load moves with it: both plants follow a new load, gravity and friction alike."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(URDF / "prr.urdf"), gravity=(0.3, -0.2, 9.81))
    q0, free = np.array([1.0, 1.1, -0.9]), np.full(3, np.inf)
    plants = both(dynamics, q0=q0, velocity_limit=free, friction=(FrictionSettings(viscous=0.3),) * 3)
    first = dynamics.parameters.inertial
    changes = (
        {"inertial": first * np.repeat([1.3, 0.8, 1.9], 10)},
        {"gravity": (0.0, 1.0, 8.0), "viscous": (0.4, 0.2, 0.1), "armature": (0.5, 0.3, 0.1)},
        {"inertial": first},
    )
    for change in changes:
        dynamics.configure(**change)
        for plant in plants:
            plant.carry(0.7 if "gravity" in change else 0.0)
            plant.advance(0.05)
            assert plant.carries
        np.testing.assert_allclose(plants[1].q, plants[0].q, rtol=0, atol=1e-8)
        np.testing.assert_allclose(plants[1].qd, plants[0].qd, rtol=0, atol=1e-6)
    assert np.abs(plants[0].qd).max() > 0.3
