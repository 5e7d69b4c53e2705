# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Forces from outside: walls and springs beside closed forms, pushes beside MuJoCo and the equations of motion."""

from pathlib import Path

import arms
import numpy as np
import pytest
from numpy.testing import assert_allclose
from plants import plant_of, restitution

import robodyn_ros as rd
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.simulation import Plant, PlantSettings
from robodyn_ros.simulation.plant.base import create_plant
from robodyn_ros.simulation.plant.external_forces import ExternalForces, Spring, Wall, WallSettings

URDF = Path(__file__).parents[1] / "urdf"
MASS = 2.5


def cart(*axes: str) -> rd.Robot:
    """A mass on sliding joints along the axes; only the last one has a mass."""
    names = [*(f"l{k}" for k in range(len(axes))), "mass"]
    links = [*map(arms.link, names[:-1]), arms.link("mass", MASS, None, (1, 0, 0, 1, 0, 1))]
    joints = [
        arms.joint(f"j{k}", "prismatic", names[k], names[k + 1], axis.split(), limit=(-9, 9, 100, 1000))
        for k, axis in enumerate(axes)
    ]
    return rd.load_robot(arms.robot("cart", *links, *joints))


def wheel() -> rd.Robot:
    """A link of 0.03 kg m² that turns about its centre of mass."""
    mass = arms.link("mass", 2.0, (0, 0, 0), (0.03, 0, 0, 0.03, 0, 0.03))
    axle = arms.joint("axle", "continuous", "base", "mass", (0, 1, 0), limit=None)
    return rd.load_robot(arms.robot("wheel", arms.link("base"), mass, axle))


def plant(robot: rd.Robot, *contacts: Wall | Spring, gravity=(0.0, 0.0, 0.0), **options) -> Plant:
    return plant_of(robot, gravity=gravity, contacts=contacts, **options)


def bounce(stiffness: float, dissipation: float, speed: float, step: float = 1e-3) -> tuple[float, float]:
    """Speed after a head-on impact, and the greatest force of the wall."""
    shown = plant(cart("1 0 0"), Wall("mass", (0.1, 0, 0), (-3, 0, 0), stiffness, dissipation), step=step)
    shown.reset([0.0], [speed])
    peak = 0.0
    for _ in range(round(0.8 / speed / step * 0.3)):
        shown.step()
        peak = min(peak, float(shown.outside.efforts(shown.q, shown.qd)[0]))
    assert shown.q[0] < 0.1
    return float(shown.qd[0]), -peak


@pytest.mark.parametrize("stiffness", [2e4, 5e4])
@pytest.mark.parametrize("speed", [0.1, 0.5])
def test_an_elastic_wall_keeps_the_energy(stiffness: float, speed: float) -> None:
    """½ m v² = ½ k δ²: the peak force is v sqrt(k m); at 1 ms the energy is kept within 0.2 %."""
    after, peak = bounce(stiffness, 0.0, speed)
    assert (after / speed) ** 2 == pytest.approx(1.0, abs=2e-3)
    assert peak == pytest.approx(speed * np.sqrt(stiffness * MASS), rel=5e-3)


@pytest.mark.parametrize(("dissipation", "speed"), [(0.5, 0.3), (1.7, 0.3), (4.0, 0.5)])
def test_restitution_is_that_of_hunt_and_crossley(dissipation: float, speed: float) -> None:
    """By integrating F = k δ (1 + λ δ̇) over the impact."""
    after, _ = bounce(3e4, dissipation, speed)
    assert -after / speed == pytest.approx(restitution(dissipation * speed), abs=2e-3)
    wall = Wall("mass", (0.1, 0, 0), (-1, 0, 0), 3e4, dissipation)
    assert plant(cart("1 0 0"), wall).outside.efforts(np.array([0.11]), np.array([-1.1 / dissipation])) == 0.0


def test_a_hard_wall_needs_no_shorter_step() -> None:
    """10 MN/m at 1 ms: two radians of its oscillation in a step; an explicit method would explode."""
    after, _ = bounce(1e7, 0.0, 0.3)
    assert 0.9 < (after / 0.3) ** 2 < 1.01
    after, _ = bounce(1e9, 0.5, 0.3)
    assert -0.3 < after < 0.0


def test_a_mass_rests_on_a_wall_and_slides_on_it_against_friction() -> None:
    """Pressed by its weight: δ = m g / k; it slides by v²/(2 μ g) with the deceleration μ g."""
    floor = Wall("mass", (0, 0, 0), (0, 0, 1), 5e4, 2.0, friction=0.3, slip_velocity=1e-3)
    shown = plant(cart("1 0 0", "0 0 1"), floor, gravity=(0, 0, -9.81))
    depth = MASS * 9.81 / 5e4
    shown.reset([0.0, -depth], [0.5, 0.0])
    shown.advance(0.1)
    assert shown.qd[0] == pytest.approx(0.5 - 0.3 * 9.81 * 0.1, abs=1e-3)
    assert shown.q[1] == pytest.approx(-depth, rel=1e-3)
    shown.advance(1.0)
    assert shown.q[0] == pytest.approx(0.5**2 / (2 * 0.3 * 9.81), rel=0.01)
    assert abs(shown.qd[0]) < 1e-4


def test_a_spring_swings_and_rests_where_it_should() -> None:
    spring = Spring("mass", (0.2, 0, 0), 90.0)
    shown = plant(cart("1 0 0"), spring)
    shown.reset([0.3])
    shown.advance(1.0)
    assert shown.q[0] == pytest.approx(0.2 + 0.1 * np.cos(np.sqrt(90.0 / MASS)), abs=1e-6)
    damped = plant(cart("1 0 0"), Spring("mass", (0.2, 0, 0), 90.0, 60.0))
    damped.outside.push("mass", (1.0, 0.0, 0.0))
    damped.reset()  # it ends the push alone
    damped.apply([9.0])
    damped.advance(6.0)
    assert damped.q[0] == pytest.approx(0.3, abs=1e-4)


def test_a_sphere_touches_with_its_surface() -> None:
    """A sphere of radius r stands r - m g / k above the wall; friction acts at the surface, and turns it."""
    ball = Wall("mass", (0, 0, -1), (0, 0, 1), 2e4, 1.0, radius=0.15)
    shown = plant(cart("0 0 1"), ball, gravity=(0, 0, -9.81))
    shown.reset([-0.85])
    shown.advance(2.0)
    assert shown.q[0] == pytest.approx(-0.85 - MASS * 9.81 / 2e4, abs=1e-6)
    rough = Wall("mass", (0, 0, -0.099), (0, 0, 1), 1e4, 0.0, friction=0.5, slip_velocity=0.01, radius=0.1)
    effort = plant(wheel(), rough).outside.efforts(np.zeros(1), np.array([2.0]))[0]
    slip = 2.0 * 0.1
    assert effort == pytest.approx(-0.1 * 0.5 * 1e4 * 0.001 * slip / np.hypot(slip, 0.01), rel=1e-9)
    centre = 0.3 * np.array([np.cos(0.4), -np.sin(0.4)])  # of a ball on the rim, x and z
    lowest, push = centre - [0.0, 0.1], 1e4 * 0.001
    rim = Wall("mass", (0, 0, lowest[1] + 0.001), (0, 0, 1), 1e4, 0.0, 0.5, 0.01, (0.3, 0, 0), 0.1)
    slip = 2.0 * lowest[1]
    rubs = -0.5 * push * slip / np.hypot(slip, 0.01)
    effort = plant(wheel(), rim).outside.efforts(np.array([0.4]), np.array([2.0]))[0]
    assert effort == pytest.approx(lowest[1] * rubs - lowest[0] * push, rel=1e-9)


@pytest.mark.parametrize("name", ["branched", "mimic"])
def test_a_push_acts_by_the_jacobian(name: str) -> None:
    """Σ Jᵀ w with J of the kinematics, at a point of a link, on awkward arms; C and Python go the same way."""
    robot = rd.load_robot(arms.awkward()[name])
    kinematics = rd.Kinematics(robot, compiled=False)
    link = [link.name for link in robot.links if link.body >= 0][-1]
    force, torque, point = np.array([3.0, -7.0, 4.0]), np.array([0.5, 0.3, -0.9]), np.array([0.02, -0.05, 0.11])
    shown = plant(robot)
    q, qd = robot.home, np.zeros(robot.n)
    shown.outside.push(link, force, torque, point)
    turn = kinematics.pose(link, q)[:3, :3]
    wrench = np.concatenate([turn @ force, turn @ torque])
    expected = kinematics.jacobian(link, q, "aligned", point).T @ wrench
    assert_allclose(shown.outside.efforts(q, qd), expected, atol=1e-12)
    shown.step(20)
    slow = plant(robot, compiled=False)
    slow.outside.push(link, force, torque, point)
    slow.step(20)
    assert_allclose(shown.q, slow.q, atol=1e-12)
    shown.outside.release()
    assert not shown.outside.active


def test_pushes_on_links_that_are_fixed_together_add_up() -> None:
    """A push replaces the one on its own link alone."""
    robot = rd.load_robot(URDF / "prr.urdf")
    kinematics, shown, q = rd.Kinematics(robot, compiled=False), plant(robot), np.array([0.5, 0.7, -0.4])
    links, forces = robot.bodies[-1].links[-2:], np.array([(3.0, -7.0, 4.0), (1.0, 2.0, -5.0)])
    shown.outside.push(links[0], (50.0, 0.0, 0.0))
    expected = np.zeros(robot.n)
    for link, force in zip(links, forces, strict=True):
        shown.outside.push(link, force)
        expected += kinematics.jacobian(link, q)[:3].T @ kinematics.pose(link, q)[:3, :3] @ force
    assert_allclose(shown.outside.efforts(q, np.zeros(robot.n)), expected, atol=1e-12)
    shown.outside.release()
    shown.outside.push(links[1], (0.0, 0.0, 0.0))
    assert not shown.outside.active


def test_a_push_is_that_of_mujoco() -> None:
    """A push on the hand, at a point, moves both plants alike."""
    pytest.importorskip("mujoco")
    dynamics = rd.create_dynamics("rnea", rd.load_robot(URDF / "prr.urdf"))
    force, point = np.array([12.0, 0.0, -30.0]), np.array([0.0, 0.0, 0.1])
    other = create_plant("mujoco", dynamics, PlantSettings(1e-4), q0=[0.5, 0.7, -0.4], friction=None, contact=False)
    q = np.array([0.5, 0.7, -0.4])
    shown = plant(dynamics.robot, gravity=STANDARD_GRAVITY)
    for each in (shown, other):
        each.reset(q)
        each.outside.push("hand", force, point=point)
        each.advance(0.05)
    assert np.abs(shown.q - q).max() > 1e-3
    assert_allclose(shown.q, other.q, atol=1e-5)


def test_a_force_that_cannot_be_compiled_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not count as applied. Of a wall, the plant itself is refused."""
    shown = plant(cart("1 0 0"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", "false")
    shown.outside.prepare()
    with pytest.raises(NotReadyError, match=r"forces cannot be compiled: .*false failed"):
        shown.outside.push("mass", (5.0, 0.0, 0.0))
    shown.step()
    assert shown.qd[0] == 0.0
    walled = ExternalForces(cart("1 0 0"), (Wall("mass", (0.1, 0, 0), (-1, 0, 0)),))
    with pytest.raises(NotReadyError, match="forces cannot be compiled"):
        _ = walled.pointer


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Wall("mass", (0, 0, 0), (0, 0, 0)), "wall normal"),
        (lambda: Wall("mass", (0, 0), (0, 0, 1)), "wall point"),
        (lambda: Wall("mass", (0, 0, 0), (0, 0, 1), -5.0), "wall stiffness"),
        (lambda: Wall("mass", (0, 0, 0), (0, 0, 1), slip_velocity=0.0), "wall slip_velocity"),
        (lambda: Spring("mass", (0, 0, float("nan")), 5.0), "spring anchor"),
        (lambda: plant(cart("1 0 0"), Spring("nothing", (0, 0, 0), 5.0)), "nothing"),
        (lambda: plant(cart("1 0 0")).outside.push("l0", (1, 0, 0)), "link: 'l0' does not move"),
        (lambda: plant(cart("1 0 0"), Wall("l0", (0, 0, 0), (0, 0, 1))), "wall.link: 'l0' does not move"),
        (lambda: plant(cart("1 0 0")).outside.push("mass", (1, 0)), "force"),
    ],
)
def test_what_is_wrong_is_named(make, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


def test_the_settings_of_a_wall() -> None:
    assert WallSettings().contacts() == ()
    (wall,) = WallSettings(link="tool", point=(0.4, 0.0, 0.0), friction=0.2).contacts()
    assert (wall.link, wall.point, wall.friction) == ("tool", (0.4, 0.0, 0.0), 0.2)


def test_a_contact_is_stiff_from_an_angle_of_its_oscillation_in_a_step_on() -> None:
    """0.3 rad: at √(k/m) = 100 rad/s from 3 ms on; with a loss of 4 s/m at an impact of 1 m/s four times as soon."""
    slides = cart("1 0 0")
    for robot, contact, step in (
        (slides, Wall("mass", (0.1, 0, 0), (-1, 0, 0), 1e4 * MASS, 0.0), 3e-3),
        (slides, Wall("mass", (0.1, 0, 0), (-1, 0, 0), 1e4 * MASS, 4.0), 0.75e-3),
        (slides, Spring("mass", (0.2, 0, 0), 1e4 * MASS, 0.0), 3e-3),
        (slides, Spring("mass", (0.2, 0, 0), 1e4 * MASS, 200.0 * MASS), 1.5e-3),
        (wheel(), Spring("mass", (0.2, 0, 0), 1e4 * 0.03 / 0.1**2, 0.0, (0.1, 0, 0)), 3e-3),
    ):
        forces, dynamics = ExternalForces(robot, (contact,)), rd.create_dynamics("rnea", robot, compiled=False)
        assert [forces.is_stiff(dynamics, part * step) for part in (0.99, 1.01)] == [False, True]
