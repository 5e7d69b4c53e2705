# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Direct transcription against closed forms and an independent integration; what cannot be is refused by name."""

import os
import signal
from itertools import pairwise
from time import perf_counter

import industrial
import numpy as np
import pytest
from arms import joint, link, mechanism, robot
from numpy.testing import assert_allclose
from planned import HOME, PICK, assert_within, passing, prr, slider, solved, whole
from scipy.integrate import solve_ivp, trapezoid

import robodyn_ros as rd
from robodyn_ros.control.motion.point_to_point import point_to_point, rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.planning.collocation import initial_guess
from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan
from robodyn_ros.planning.collocation.initial_guess import from_trajectory, initial_guesses, is_free
from robodyn_ros.planning.collocation.program import Mesh
from robodyn_ros.planning.collocation.scheme import SCHEMES
from robodyn_ros.planning.cost import Effort, MinimumTime, Tracking, read_cost
from robodyn_ros.planning.obstacles import Capsule, box, sphere
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem, ToolGoal
from robodyn_ros.planning.verification import infeasibility, verify

PATIENT = CollocationSettings(time_limit=300.0)  # of a loaded machine
COARSE = CollocationSettings(tolerance=0.02, time_limit=300.0)


@pytest.fixture(scope="module")
def arm():
    return prr()


def integrated(dynamics, found):
    """Where the planned efforts, linear between the points, bring the arm, by SciPy."""
    n = len(found.joints)

    def rate(t, x):
        effort = [np.interp(t, found.times, column) for column in found.effort.T]
        return np.concatenate((x[n:], dynamics.forward(x[:n], x[n:], np.array(effort))))

    start = np.concatenate((found.q[0], found.qd[0]))
    return solve_ivp(rate, (0.0, found.duration), start, rtol=1e-8, atol=1e-10, max_step=5e-3).y[:, -1]


@pytest.mark.parametrize("name", SCHEMES)
def test_the_double_integrator_in_minimum_time(name):
    """Bang-bang: T = 2 √(m d / F), with the speed limit out of reach."""
    cart = slider()
    problem = Problem(cart, [0.2], JointGoal([1.9]), limits=whole(cart))
    found = solved(plan, problem, CollocationSettings(scheme=name, intervals=40, time_limit=300.0))
    closed = 2.0 * np.sqrt(2.5 * 1.7 / 10.0)
    assert found.duration == pytest.approx(closed, rel=1e-3) and found.duration > closed
    assert np.abs(found.effort).max() <= 10.0 * (1 + 1e-6)
    assert_allclose(found.effort[found.times < 0.45 * closed], 10.0, rtol=1e-2)
    assert_allclose(found.effort[found.times > 0.55 * closed], -10.0, rtol=1e-2)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("limits", [{}, {"acceleration": 4.0, "effort": np.inf}, {"acceleration": 4.0, "effort": 70.0}])
def test_with_a_speed_limit_the_profile_is_a_trapezoid(limits, name):
    """T = d / v + v / a, with a = F / m or its limit."""
    cart = slider(velocity=1.5)
    problem = Problem(cart, [0.2], JointGoal([1.9]), limits=whole(cart, **limits))
    found = solved(plan, problem, CollocationSettings(scheme=name, intervals=40, time_limit=300.0))
    assert found.duration == pytest.approx(1.7 / 1.5 + 1.5 / 4.0, rel=1e-3)
    assert "optimal" in found.reason


@pytest.mark.parametrize("velocity", [3.0, [np.inf, 2.0]])
def test_without_limits_of_effort_the_velocities_keep_the_time(velocity):
    """A joint moves at its greatest velocity, but in the first and the last of 20 intervals."""
    text = mechanism("RR", (1.3, 0.7), (0.8, 0.6), (0.35, 0.2), (0.11, 0.04))
    arm = rd.create_dynamics("rnea", rd.load_robot(text))
    problem = Problem(arm, [0.1, 0.4], JointGoal([1.1, -0.3]), limits=whole(arm, velocity=velocity, effort=np.inf))
    least = max([1.0, 0.7] / np.asarray(velocity))
    assert least < solved(plan, problem, PATIENT).duration < least * (1.0 + 1.0 / 20.0)


def test_least_effort_of_the_double_integrator():
    """∫ F² dt = 12 m² d² / T³ over a fixed time, by the cubic (calculus of variations)."""
    found = solved(plan, Problem(slider(), [0.2], JointGoal([1.9]), Effort(), duration=2.0), PATIENT)
    assert found.cost == pytest.approx(12 * 2.5**2 * 1.7**2 / 2.0**3, rel=1e-6)
    assert_allclose(found.q[:, 0], 0.2 + 1.7 * (3 * (found.times / 2) ** 2 - 2 * (found.times / 2) ** 3), atol=1e-6)


@pytest.mark.parametrize(
    ("mass", "limits", "given"),
    [
        (1e-3, {}, {"cost": Effort(), "duration": 1.5}),
        (1e-3, {"effort": np.inf}, {"cost": Effort(), "duration": 1.5}),
        (1e-6, {}, {}),
    ],
    ids=["least effort", "without limits", "shortest time"],
)
def test_the_optimum_of_a_light_arm_of_millimetres_is_that_of_a_larger_one(mass, limits, given):
    """The same motion, with gravity in proportion; its efforts are some 10⁻⁸ N m, or 10⁻¹¹ N m."""
    costs = []
    for m, size in ((1.0, 1.0), (mass, 1e-3)):
        inertias = 0.11 * m * size**2, 0.04 * m * size**2
        text = mechanism("RR", (1.3 * m, 0.7 * m), (0.8 * size, 0.6 * size), (0.35 * size, 0.2 * size), inertias)
        unit, arm = m * size**2, rd.create_dynamics("rnea", rd.load_robot(text), gravity=(0.0, 0.0, -9.81 * size))
        within = whole(arm, **{"velocity": 3.0, "effort": np.array([20.0, 8.0]) * unit} | limits)
        problem = Problem(arm, np.zeros(2), JointGoal([1.0, -0.7]), limits=within, **given)
        costs.append(solved(plan, problem, PATIENT).cost / (unit**2 if given else 1.0))
    assert costs[1] == pytest.approx(costs[0], rel=1e-4)


def test_tracking_is_the_linear_quadratic_regulator():
    """ẍ = F/m under ∫ 4 x² + ẋ² + ½ F² dt, long enough to be the infinite horizon's: its cost is xᵀ P x."""
    from scipy.linalg import solve_continuous_are

    P = solve_continuous_are(
        np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1 / 2.5]]), np.diag([4.0, 1.0]), [[0.5]]
    )
    cost = Tracking([0.0, 0.0], [4.0, 1.0], [0.5])
    goal = JointGoal([np.nan], None)
    problem = Problem(slider(effort=1e3), [1.0], goal, cost, duration=12.0, start_velocity=[0.5])
    found = solved(plan, problem, CollocationSettings(intervals=80, time_limit=300.0))
    assert found.cost == pytest.approx(np.array([1.0, 0.5]) @ P @ [1.0, 0.5], rel=1e-4)


def test_home_to_pick_in_minimum_time(arm):
    found = solved(plan, Problem(arm, HOME, JointGoal(PICK)), CollocationSettings(tolerance=2e-3, time_limit=300.0))
    quintic = point_to_point(arm, HOME, PICK, limit_ratio=0.9)
    assert quintic.duration > 1.5 * found.duration
    limit = 0.9 * arm.robot.effort_limit
    assert_within(arm, found, MotionLimits.of(arm.robot))
    # At every moment some joint works at its limit of effort or of speed, as Pontryagin's principle has it.
    busy = np.maximum(np.abs(found.effort) / limit, np.abs(found.qd) / (0.9 * arm.robot.velocity_limit)).max(axis=1)
    assert np.gradient(found.times)[busy > 0.99].sum() > 0.9 * found.duration
    assert_allclose(integrated(arm, found), np.concatenate((PICK, np.zeros(3))), atol=0.02)


@pytest.mark.skipif("panda" not in industrial.urdfs(), reason="needs the Panda of example-robot-data")
def test_joints_with_strong_motors_do_not_chatter():
    """The Panda's joints are at full speed within 3 ms; those that have time took more than 80 intervals to chatter."""
    robot = rd.load_robot(industrial.urdfs()["panda"])
    problem = Problem(
        rd.create_dynamics("rnea", robot),
        robot.home + np.append(np.zeros(7), 0.01),
        ToolGoal.at((0.5, 0.0, 0.4), "panda_link8"),
        limit_margin=0.02,
    )
    found = plan(problem, CollocationSettings(refinements=3, time_limit=300.0))
    assert found.reason.startswith("optimal"), found.reason
    # The last joint turns about an axis through the tool, and the finger is the gripper's: they stay where they are.
    assert_allclose(found.q[:, 6:], np.broadcast_to(problem.start[6:], found.q[:, 6:].shape), atol=1e-3)
    assert_allclose(problem.goal.fixes(problem.model), np.arange(robot.n) >= 6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_guess_takes_the_time_that_the_motion_has(arm, scheme):
    """Each leg is slowed down alike: with it its velocity, and with the square its acceleration."""
    via, end = np.array([0.1, -0.7, 0.3]), np.array([0.2, -1.5, -0.1])
    problem = Problem(arm, HOME, JointGoal(end), Effort(), duration=2.0, via=passing(via))
    legs = [rest_to_rest([HOME, via], [0.0, 1.5]), rest_to_rest([via, end], [0.0, 3.5])]
    guess = from_trajectory(problem, legs, Mesh.uniform(2, 20), SCHEMES[scheme]())
    assert_allclose(guess.durations, [0.6, 1.4])
    slow = 0.4
    times = np.concatenate(
        [np.linspace(0.0, 0.6, len(guess.q) // 2 + 1), np.linspace(0.6, 2.0, len(guess.q) // 2 + 1)[1:]]
    )
    for k, t in enumerate(times[:-1]):
        leg, begin = (legs[0], 0.0) if t < 0.6 - 1e-12 else (legs[1], 0.6)
        q, qd, qdd = leg.sample((t - begin) / slow)
        assert_allclose((guess.q[k], guess.qd[k], guess.qdd[k]), (q, qd / slow, qdd / slow**2), atol=1e-9)
    assert_allclose(guess.q[-1], end, atol=1e-9)
    assert_allclose(guess.effort, arm.inverse(guess.q, guess.qd, guess.qdd), atol=1e-8)


def test_the_tool_goes_to_a_pose_by_a_via_point(arm):
    kinematics = rd.Kinematics(arm.robot)
    pose, via = kinematics.pose("tool", [0.6, 0.9, -0.3]), np.array([0.5, 0.2, 0.4])
    problem = Problem(arm, HOME, ToolGoal(pose, "tool"), via=passing(via))
    found = solved(plan, problem, COARSE)
    assert_allclose(kinematics.pose("tool", found.q[-1]), pose, atol=1e-5)
    assert np.abs(found.q - via).max(axis=1).min() < 1e-6
    assert np.abs(found.qd[np.abs(found.q - via).max(axis=1).argmin()]).max() > 0.5  # it does not stop there


def test_the_way_leads_around_an_obstacle(arm):
    """The straight way hits the ball; no point of the palm's axis comes nearer to it than both radii."""
    kinematics, ball = rd.Kinematics(arm.robot), sphere("ball", (-0.45, 0.0, 0.7), 0.12)
    problem = Problem(arm, HOME, JointGoal(PICK), obstacles=(ball,))

    def distance(motion, duration):
        line = np.linspace((0.0, 0.0, 0.0), (0.0, 0.0, 0.22), 20)
        poses = [kinematics.pose("hand", motion(t)) for t in np.linspace(0.0, duration, 300).tolist()]
        places = np.array([line @ pose[:3, :3].T + pose[:3, 3] for pose in poses])
        return np.linalg.norm(places - ball.center, axis=2).min() - ball.radius - 0.067

    assert distance(lambda t: t * PICK, 1.0) < 0.0
    found = solved(plan, problem, COARSE)
    trajectory = found.to_trajectory()
    assert distance(lambda t: trajectory.sample(t).q, found.duration) > 0.009
    scheme = SCHEMES["trapezoidal"]()
    guess = next(initial_guesses(problem, Mesh.uniform(1, 299), scheme, np.inf))
    assert distance(lambda node: guess.q[round(node)], 299) > 0.009
    assert np.linalg.norm(guess.qd[15:-15], axis=1).min() > 1.0  # [rad/s]: it does not stop on the way
    assert np.linalg.norm(np.diff(guess.q, axis=0), axis=1).sum() < 3.0 * np.linalg.norm(PICK)
    (other,) = initial_guesses(problem, Mesh.uniform(1, 9), scheme, 0.0)  # no time for a search
    near = list(initial_guesses(Problem(arm, 0.9 * PICK, JointGoal(PICK)), Mesh.uniform(1, 10), scheme, np.inf))
    for start, each in ((HOME, guess), (HOME, other), *((0.9 * PICK, each) for each in near)):
        assert_allclose((each.q[[0, -1]], each.qd[[0, -1]]), ((start, PICK), np.zeros((2, 3))), atol=1e-9)
    detours = np.array([each.q[5] for each in near[1:]])
    assert_allclose(detours.mean(axis=0), 0.95 * PICK, atol=0.1)
    assert (detours.std(axis=0) > 0.1).all()


def test_each_branch_of_a_search_is_short_and_free(arm, monkeypatch):
    problem = Problem(arm, HOME, JointGoal(PICK), obstacles=(sphere("ball", (-0.55, 0.0, 0.55), 0.02),))
    monkeypatch.setattr(initial_guess, "SHORTCUTS", 0)
    path = initial_guess.rrt_connect(problem, HOME, PICK, 2, np.inf)
    assert_allclose([path[0], path[-1]], [HOME, PICK])
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() <= initial_guess.STEP + 1e-12
    assert all(initial_guess.is_free(problem, a, b) for a, b in pairwise(path))


def test_joints_that_gravity_never_loads_reach_a_goal_of_the_tool():
    """A horizontal arm: what holds it at rest is 0, whatever the positions are."""
    inertia, parts = (0.01, 0.0, 0.0, 0.02, 0.0, 0.03), [link("base")]
    lengths, limits = (0.0, 0.3, 0.25), ((-3.0, 3.1, 2.0, 20.0), (-2.8, 2.9, 2.5, 15.0), (-6.0, 6.2, 1.5, 5.0))
    for index, (length, limit) in enumerate(zip(lengths, limits, strict=True)):
        before = f"link{index}" if index else "base"
        parts.append(link(f"link{index + 1}", 1.3 - 0.4 * index, (0.15 - 0.05 * index, 0.01, 0.0), inertia))
        place = {"axis": (0, 0, 1), "xyz": (length, 0, 0), "limit": limit}
        parts.append(joint(f"joint{index + 1}", "revolute", before, f"link{index + 1}", **place))
    scara = rd.create_dynamics("rnea", rd.load_robot(robot("scara", *parts)), compiled=False)
    goal = rd.Kinematics(scara.robot, compiled=False).pose("link3", np.array([0.5, 0.9, 1.3]))
    found = solved(plan, Problem(scara, [0.2, 0.6, 0.3], ToolGoal(goal, "link3")), PATIENT)
    assert_allclose(rd.Kinematics(scara.robot, compiled=False).pose("link3", found.q[-1]), goal, atol=1e-5)


def test_a_goal_at_which_the_tool_always_is_is_reached_at_once():
    """The position of a tool on the axis of the only joint."""
    pivot = joint("pivot", "revolute", "base", "disc", axis=(0, 0, 1))
    parts = link("base"), link("disc", 1.5, (0.02, 0.0, 0.1), (0.01, 0.0, 0.0, 0.02, 0.0, 0.03)), pivot
    disc = rd.create_dynamics("rnea", rd.load_robot(robot("disc", *parts)), compiled=False)
    found = solved(plan, Problem(disc, [0.4], ToolGoal.at((0.0, 0.0, 0.0), "disc")), PATIENT)
    assert_allclose(found.q, 0.4, atol=1e-6)


@pytest.mark.parametrize("ends", [((5.0, 6.0), (8.0, 6.5)), ((1.0, 4.5), (2.5, 4.2))])
def test_a_detour_is_found_all_over_the_range_of_a_long_rail(ends):
    """A gantry: 10 m along, and a range across that is nowhere near zero."""
    along = joint("along", "prismatic", "base", "beam", axis=(1, 0, 0), limit=(0.0, 10.0, 1.0, 100.0))
    across = joint("across", "prismatic", "beam", "tool", axis=(0, 1, 0), limit=(4.0, 9.0, 1.5, 80.0))
    parts = link("base"), link("beam", 2.5, (0.1, 0, 0)), link("tool", 1.3, (0, 0, 0.05)), along, across
    gantry = rd.create_dynamics("rnea", rd.load_robot(robot("gantry", *parts)), compiled=False)
    start, goal = np.array(ends)
    ball = sphere("ball", (*(start + goal) / 2.0, 0.0), 0.4)
    tool = (Capsule("tool", np.zeros(3), np.array([0.0, 0.0, 0.1]), 0.05),)
    problem = Problem(gantry, start, JointGoal(goal), obstacles=(ball,), bodies=tool)
    path = initial_guess.rrt_connect(problem, start, goal, 0, perf_counter() + 60.0)
    assert path is not None
    assert_allclose([path[0], path[-1]], [start, goal])
    assert (np.array(path) >= gantry.robot.lower).all() and (np.array(path) <= gantry.robot.upper).all()
    assert all(initial_guess.is_free(problem, a, b) for a, b in pairwise(path))


def test_a_gantry_leaves_a_cup_however_small_it_is():
    """Its walls are a twentieth of its travel: a search in steps of a metre's size does not see them."""
    size, parts = 1e-3, [link("base")]
    for before, name, axis in (("base", "x", (1, 0, 0)), ("x", "y", (0, 1, 0))):
        limit = (-size, size, size, 100.0 * size)
        parts += [link(name, 1.0), joint(f"along_{name}", "prismatic", before, name, axis, limit=limit)]
    cup = {"front": (0.2, 0.0, 0.1, 1.2), "top": (-0.2, 0.6, 0.9, 0.1), "bottom": (-0.2, -0.6, 0.9, 0.1)}
    walls = [box(name, (x * size, y * size, 0.0), (a * size, b * size, size)) for name, (x, y, a, b) in cup.items()]
    body = Capsule("y", np.zeros(3), np.zeros(3), 0.02 * size)
    given = {"obstacles": tuple(walls), "margin": 0.01 * size, "bodies": (body,)}
    gantry = rd.create_dynamics("rnea", rd.load_robot(robot("gantry", *parts)))
    found = solved(plan, Problem(gantry, [-0.1 * size, 0.0], JointGoal([0.8 * size, 0.0]), **given), COARSE)
    assert np.abs(found.q[:, 1]).max() > 0.63 * size
    assert found.duration == pytest.approx(2.667, rel=1e-2)


def test_a_detour_that_is_not_found_ends_no_search(arm, monkeypatch):
    """The straight way stands in for the first; of the others, two are found."""
    problem = Problem(arm, HOME, JointGoal(PICK), obstacles=(sphere("ball", (-0.55, 0.0, 0.55), 0.12),))
    detours = {2: PICK + 0.1, 5: PICK - 0.1}

    def rrt_connect(_, start, goal, seed, until):
        return [start, detours[seed], goal] if seed in detours else None

    monkeypatch.setattr(initial_guess, "rrt_connect", rrt_connect)
    guesses = list(initial_guesses(problem, Mesh.uniform(1, 99), SCHEMES["trapezoidal"](), np.inf))
    for guess, way in zip(guesses, ([HOME, PICK], *([HOME, place, PICK] for place in detours.values())), strict=True):
        length = np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
        assert np.linalg.norm(np.diff(guess.q, axis=0), axis=1).sum() == pytest.approx(length, rel=0.05)


def refusal(problem):
    found = plan(problem, CollocationSettings(intervals=5, time_limit=300.0))
    assert "time limit" not in found.reason
    assert not found.solved and found.violation is not None
    return found


def test_only_the_start_may_be_closer_to_an_obstacle_than_the_margin():
    """It may be left; a goal there is refused, and a start that touches."""
    parts = [link("base"), link("x", 1.0), joint("along_x", "prismatic", "base", "x", (1, 0, 0), limit=(-1, 1, 1, 100))]
    gantry = rd.create_dynamics("rnea", rd.load_robot(robot("gantry", *parts)))
    body, wall = Capsule("x", np.zeros(3), np.zeros(3), 0.1), sphere("wall", (0.5, 0.0, 0.0), 0.1)

    def refused(start, goal):
        given = {"obstacles": (wall,), "bodies": (body,), "margin": 0.05}
        found = infeasibility(Problem(gantry, [start], JointGoal([goal]), **given))
        return None if found is None else (found[0].partition(" ")[0], found[1].amount)

    assert refused(0.28, -0.5) is None
    left = Problem(gantry, [0.28], JointGoal([-0.5]), obstacles=(wall,), bodies=(body,), margin=0.05)
    assert is_free(left, *left.stops) and not is_free(left, np.array([0.31]), left.stops[1])
    assert refused(-0.5, 0.24) is None
    assert refused(-0.5, 0.28) == ("goal", pytest.approx(0.03, rel=0.02))
    assert refused(0.31, -0.5) == ("start", pytest.approx(0.06, rel=0.02))


def test_what_cannot_be_is_refused_before_anything_is_solved(arm):
    heavy = rd.create_dynamics("rnea", arm.robot, payload=rd.Payload("tool", 12.0))
    blocked = sphere("crate", (0.0, 0.0, 0.6), 0.1)
    cases = {
        "effort limit of 'shoulder'": Problem(heavy, HOME, JointGoal(PICK)),
        "distance of 'hand' from 'crate'": Problem(arm, HOME, JointGoal(PICK), obstacles=(blocked,)),
        "position limit of 'wrist'": Problem(arm, [0, 0, arm.robot.upper[2] + 1e-6], JointGoal(PICK)),
        "velocity limit of 'shoulder'": Problem(arm, HOME, JointGoal(PICK), start_velocity=[0.0, 13.0, 0.0]),
        "reach of the tool": Problem(arm, HOME, ToolGoal.at((4.0, 0.0, 0.0), "tool")),
    }
    for constraint, problem in cases.items():
        found = refusal(problem)
        assert constraint in found.violation.constraint and len(found.times) == 0
        assert constraint in found.reason or "out of reach" in found.reason or "beyond reach" in found.reason


def test_a_joint_that_may_be_anywhere_makes_room_for_the_others_at_the_goal(arm, monkeypatch):
    """Where it begins, there is a ball at the goal, or the shoulder is too weak to hold the hand stretched out."""
    monkeypatch.setattr(initial_guess, "MAX_BRANCHES", 200)  # no path leads into the ball, however long it is searched
    start, free = np.array([0.2, -1.0, 0.0]), np.array([0.2, 1.2, 0.0])
    place = rd.Kinematics(arm.robot, compiled=False).pose("tool", free)[:3, 3]
    weak = MotionLimits.of(arm.robot, effort=[600.0, 36.0, 36.0], limit_ratio=1.0)
    for joint_index, more in ((0, {"obstacles": (sphere("ball", place, 0.1),)}), (2, {"limits": weak})):
        wanted = np.where(np.arange(3) == joint_index, np.nan, free)
        found = solved(plan, Problem(arm, start, JointGoal(wanted), **more), COARSE)
        assert_allclose(np.where(np.isnan(wanted), np.nan, found.q[-1]), wanted, atol=1e-5)
        assert abs(found.q[-1] - free)[joint_index] > 0.05


@pytest.mark.parametrize(
    ("given", "constraint", "unit", "amount"),
    [
        ({"velocity": 1.5}, "velocity limit of 'x'", "m/s", 15.0 / 8.0 * 1.7 / 2.0 - 1.5),
        ({"acceleration": 2.0}, "acceleration limit of 'x'", "m/s²", 10.0 / np.sqrt(3.0) * 1.7 / 4.0 - 2.0),
        ({"jerk": 10.0}, "jerk limit of 'x'", "m/s³", 60.0 * 1.7 / 8.0 - 10.0),
        ({"effort": 5.0}, "effort limit of 'x'", "N", 2.5 * 10.0 / np.sqrt(3.0) * 1.7 / 4.0 - 5.0),
        ({"goal": 1.87}, "goal: position of 'x'", "m", 0.03),
        ({"rate": 0.3}, "goal: velocity of 'x'", "m/s", 0.3),
        ({"mass": 2.8}, "equation of motion of 'x'", "N", 0.3 * 10.0 / np.sqrt(3.0) * 1.7 / 4.0),
        ({"obstacles": (sphere("ball", (1.0, 0.35, 0.0), 0.2),)}, "distance of 'cart' from 'ball'", "m", 0.05),
    ],
)
def test_the_quintic_of_a_slider_misses_what_it_misses(given, constraint, unit, amount):
    """The greatest speed is 15 d / 8 T, the acceleration 10 d / √3 T², the jerk 60 d / T³, at both ends."""
    cart, limits, body = slider(50.0), dict(given), Capsule("cart", np.zeros(3), np.zeros(3), 0.1)
    goal, mass = JointGoal([limits.pop("goal", 1.9)], [limits.pop("rate", 0.0)]), limits.pop("mass", 2.5)
    via = JointGoal([1.05], [15.0 / 8.0 * 1.7 / 2.0])  # which it passes at its greatest speed
    more = {"bodies": (body,), "obstacles": limits.pop("obstacles", ()), "via": (via,)}
    problem = Problem(cart, [0.2], goal, limits=whole(cart, **limits), margin=0.1, **more)
    times = np.linspace(0.0, 2.0, 2001)
    q, qd, qdd = rest_to_rest([[0.2], [1.9]], [0.0, 2.0]).samples(times)
    found = verify(problem, Trajectory(times, q, qd, qdd, mass * qdd), [1000, 2000], 0.005)
    assert found.worst == (constraint, pytest.approx(amount, rel=0.05, abs=1e-3), unit)
    assert found.ratio > 1.0
    effort = (mass - 2.5) * np.abs(qdd).max() / limits.get("effort", 50.0)
    assert_allclose((found.errors.max(), found.dynamics_error), effort, rtol=1e-3, atol=1e-4)
    near = np.abs(q[:-1, 0] - 1.0)  # closer than 0.1 on the 0.19 m before and after the middle of the ball
    assert found.close[near < 0.17].all() == found.close.any() == ("obstacles" in given)
    assert not found.close[near > 0.2].any()


def test_what_only_the_solver_sees_is_refused_by_name():
    """A metre in half a second takes 2 d 2 m / t² = 40 N; there are 10."""
    cart = slider()
    found = refusal(Problem(cart, [0.0], JointGoal([1.0]), Effort(), duration=0.5, limits=whole(cart)))
    assert "'x'" in found.violation.constraint and "no solution" in found.reason
    assert found.violation.constraint in found.reason and "0.5 s is too short" in found.reason
    refusal(Problem(slider(velocity=1.5), [0.2], JointGoal([1.9]), Effort(), duration=1.3))  # not a slower motion


def test_a_duration_shorter_than_the_velocity_limits_allow_is_refused_before_the_search():
    """There and back: 0.9 m at 1.5 m/s takes 0.6 s; a goal that leaves the joint free takes no time."""
    cart = slider(velocity=1.5)
    given = {"cost": Effort(), "via": (JointGoal([0.85]),), "limits": whole(cart)}
    found = refusal(Problem(cart, [0.2], JointGoal([0.6]), duration=0.59, **given))
    assert "1.525 m/s on average" in found.reason and "takes 0.6 s or more" in found.reason
    assert found.violation.amount == pytest.approx(0.9 / 0.59 - 1.5) and not len(found.times)
    assert infeasibility(Problem(cart, [0.2], JointGoal([0.6]), duration=0.61, **given)) is None
    assert infeasibility(Problem(cart, [0.2], JointGoal([np.nan]), duration=0.1, limits=whole(cart))) is None


def test_the_time_limit_holds(arm):
    """Without time for a search a feasible motion is left, and it is called that."""
    pytest.importorskip("toppra")
    brief = CollocationSettings(time_limit=0.01)
    found = plan(Problem(arm, HOME, JointGoal(PICK)), brief)
    assert found.solved and found.method == "time-scaling" and "feasible" in found.reason
    assert "time limit of 0.01 s" in found.reason
    line = PICK[1:] / np.linalg.norm(PICK[1:])
    assert_allclose(found.q[:, 1:] - np.outer(found.q[:, 1:] @ line, line), 0.0, atol=1e-9)
    found = plan(Problem(arm, HOME, JointGoal(PICK), Effort(), duration=1.4), brief)
    assert found.solved and found.duration == pytest.approx(1.4) and "feasible" in found.reason
    squares = trapezoid((found.effort**2).sum(axis=1), found.times)
    assert found.cost == pytest.approx(squares, rel=1e-3)
    found = plan(Problem(arm, HOME, JointGoal(PICK), duration=0.4), brief)  # too fast for any motion
    assert not found.solved and "time limit of 0.01 s" in found.reason


def test_an_interrupted_search_leaves_a_feasible_motion_near_the_best(arm):
    """The mesh is too coarse for the efforts of the least time; the motion on it is slowed down a little, no more."""
    limits = MotionLimits.of(arm.robot, limit_ratio=0.8)
    problem = Problem(arm, HOME, JointGoal(PICK), limits=limits)
    coarse = solved(plan, problem, CollocationSettings(intervals=8, refinements=0, time_limit=300.0))
    best = solved(plan, problem, PATIENT)
    assert coarse.reason.startswith("feasible") and "8 intervals" in coarse.reason
    assert best.reason.startswith("optimal")
    assert best.duration < coarse.duration < 1.15 * best.duration
    assert_within(arm, coarse, limits)
    assert_allclose(coarse.q[-1], PICK, atol=1e-6)


@pytest.mark.parametrize("text", ["effort", "effort+0.1*smoothness"])
def test_least_effort_of_joints_with_different_units(arm, text):
    """The help's own example; with efforts in N and N·m as they are, the elevator alone would count."""
    robot = arm.robot
    cost = read_cost(text, robot.effort_limit, robot.velocity_limit)
    problem = Problem(arm, HOME, JointGoal([0.3, -1.0, 0.0]), cost, duration=2.0, limit_margin=0.02)
    found = solved(plan, problem, PATIENT)
    quintic = rest_to_rest([HOME, [0.3, -1.0, 0.0]], [0.0, 2.0])
    t = np.linspace(0.0, 2.0, 2001)
    q, qd, qdd = (np.array(rows) for rows in zip(*(quintic.sample(at) for at in t), strict=True))
    effort = arm.inverse(q, qd, qdd) / robot.effort_limit
    slow = 0.1 * (qdd / robot.velocity_limit) ** 2 if "smoothness" in text else 0.0
    assert found.cost < trapezoid(np.sum(effort**2 + slow, axis=1), t)


@pytest.mark.parametrize(("place", "speed", "limit"), [(4.5, 1.5, 5.0), (-0.5, -1.5, -1.0)])
def test_a_motion_keeps_off_the_position_limits_by_the_margin(place, speed, limit):
    """Without a margin of 0.2 m it would come within 0.06 m of the limit."""
    cart = slider(effort=50.0)
    given = {"start_velocity": [speed], "duration": 2.0, "limits": whole(cart), "limit_margin": 0.2}
    found = solved(plan, Problem(cart, [place], JointGoal([place]), Effort(), **given), PATIENT)
    assert np.abs(found.q - limit).min() == pytest.approx(0.2, abs=1e-3)


def test_ctrl_c_ends_the_search(arm):
    """It arrives in an iteration, as the terminal would send it; the solver would take it for a wish to stop."""

    def interrupt(iteration, violation):
        if iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            plan(Problem(arm, HOME, JointGoal(PICK)), PATIENT, interrupt)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_wrong_problems_are_errors(arm):
    with pytest.raises(InputError, match="start"):
        Problem(arm, [0.0, 0.0], JointGoal(PICK))
    with pytest.raises(InputError, match="goal"):
        plan(Problem(arm, HOME, JointGoal([0.0])))
    with pytest.raises(InputError, match="duration"):
        Problem(arm, HOME, JointGoal(PICK), MinimumTime(), duration=-1.0)
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(InputError, match="longest"):
            Problem(arm, HOME, JointGoal(PICK), longest=wrong)
