# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Costs, limits, goals, obstacles and plans as data."""

import casadi as ca
import numpy as np
import pytest
from arms import lesson_arm, resized, slider
from numpy.testing import assert_allclose
from scipy.interpolate import BPoly, PPoly

import robodyn_ros as rd
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.planning.collocation.collocation import sample_motion
from robodyn_ros.planning.collocation.program import Mesh, NonlinearProgram, position_units, shortest_duration
from robodyn_ros.planning.collocation.scheme import SCHEMES, Columns
from robodyn_ros.planning.cost import Effort, MinimumTime, Point, Smoothness, Tracking, read_cost
from robodyn_ros.planning.obstacles import Clearance, _cover, box, capsules, read_obstacles, sphere
from robodyn_ros.planning.plan import Plan, Violation
from robodyn_ros.planning.problem import REVERSAL, JointGoal, MotionLimits, Problem, SmoothModel, ToolGoal

Q, QD, QDD, TAU = (np.array(x) for x in ((0.3, -1.1), (0.7, 0.4), (-2.0, 5.0), (3.0, -0.5)))


def value(cost, reference=(0.0, 0.0, 0.0, 0.0)):
    point = Point(*(ca.SX(x) for x in (Q, QD, QDD, TAU)), ca.SX(reference))
    return float(ca.DM(cost.running(point))), float(ca.DM(cost.final(point)))


def test_every_cost_is_what_it_says():
    assert value(MinimumTime()) == (1.0, 0.0)
    assert value(Effort()) == (pytest.approx(9.25), 0.0)
    assert value(Effort((2.0, 4.0))) == (pytest.approx(19.0), 0.0)
    assert value(Smoothness()) == (pytest.approx(29.0), 0.0)
    weights = np.diag([1.0, 2.0, 3.0, 4.0])
    weights[0, 1] = weights[1, 0] = 0.5
    x = np.concatenate((Q, QD)) - (0.1, 0.2, 0.3, 0.4)
    track = Tracking((0.1, 0.2, 0.3, 0.4), weights, (0.1, 0.2), 10 * weights)
    expected = x @ weights @ x, 10 * x @ weights @ x
    assert value(track, (0.1, 0.2, 0.3, 0.4)) == pytest.approx((expected[0] + 0.1 * 9 + 0.2 * 0.25, expected[1]))
    assert value(MinimumTime() + 0.5 * (Effort() + 2.0 * Smoothness()))[0] == pytest.approx(1 + 0.5 * (9.25 + 58))


def test_the_smooth_model_has_all_of_the_friction_beyond_a_reversal():
    coulomb, arm = np.array([0.7, 1.3]), rd.load_robot(lesson_arm())
    rough, smooth = (rd.create_dynamics("rnea", arm, coulomb=each) for each in (coulomb, 0.0 * coulomb))
    model = SmoothModel(rough)
    assert_allclose(np.ravel(model.inverse(Q, [0.3, -0.4], Q)), rough.inverse(Q, [0.3, -0.4], Q), rtol=1e-9)
    slow = np.array([REVERSAL, -REVERSAL])
    found = np.ravel(model.inverse(Q, slow, Q)) - smooth.inverse(Q, slow, Q)
    assert_allclose(found, 0.7616 * coulomb * [1.0, -1.0], rtol=1e-4)  # three quarters
    screw = rd.create_dynamics("rnea", rd.load_robot(slider((0.0, 0.1, 2e-3, 20.0))), coulomb=[5.0])  # of 2 mm/s
    assert_allclose(SmoothModel(screw).inverse(0.0, 2e-4, 0.0), 5.0, rtol=1e-3)


def test_a_trajectory_to_follow_is_of_the_arms_joints():
    with pytest.raises(InputError, match=r"target: has shape \(2, 3\), not \(2, 2\)"):
        Tracking(Trajectory([0.0, 1.0], np.zeros((2, 3))), np.ones(4)).reference([0.0], 2)


def test_costs_are_read_from_text():
    assert value(read_cost("time+1e-2*effort+1e+1*smoothness"))[0] == pytest.approx(1 + 0.0925 + 290)
    for text in ("speed", "time+", "x*time", ""):
        with pytest.raises(InputError, match="is not one of time, effort, smoothness"):
            read_cost(text)
    with pytest.raises(InputError, match=r"weight: of a cost must be a number not below 0, not -1\.0"):
        read_cost("time+-1*effort")


def test_the_reference_of_a_cost_follows_a_trajectory():
    way = Trajectory([0.0, 2.0], [[0.0, 1.0], [4.0, 1.0]])
    rows = Tracking(way, np.ones(4)).reference([0.5, 1.0], 2)
    assert_allclose(rows, [[1.0, 1.0, 2.0, 0.0], [2.0, 1.0, 2.0, 0.0]], atol=1e-12)
    rows = Tracking(way, np.ones(4)).reference([2.0, np.nextafter(2.0, 3.0), 2.1], 2)  # in motion, then at rest
    assert_allclose(rows, [[4.0, 1.0, 2.0, 0.0], [4.0, 1.0, 2.0, 0.0], [4.0, 1.0, 0.0, 0.0]], atol=1e-12)
    dynamics = rd.create_dynamics("rnea", rd.load_robot(lesson_arm()))
    with pytest.raises(InputError, match="fixed duration"):
        Problem(dynamics, [0.0, 0.0], JointGoal([1.0, 1.0]), Tracking(way, np.ones(4)))


@pytest.mark.parametrize("name", SCHEMES)
def test_the_schemes_integrate_polynomials_of_their_degree_exactly(name):
    """q̈ linear or quadratic; q, q̇ and the jerk by NumPy. One degree more is not exact."""
    chosen, rng = SCHEMES[name](), np.random.default_rng(1)
    steps = np.array([0.2, 0.35, 0.1])
    times = chosen.times(steps)

    def missed(degree):
        a = np.polynomial.Polynomial(rng.normal(size=degree + 1))
        v = a.integ(k=[0.7])
        q = v.integ(k=[-0.3])
        x = Columns(*(row(times)[np.newaxis] for row in (q, v, a, a)))
        jerks = [a.deriv()(times[part]) * steps for part in chosen.places(len(times))[:: chosen.inner + 1]]
        off = [found - jerk for found, jerk in zip(chosen.steps_of_acceleration(x), jerks, strict=False)]
        ends = times[:: chosen.inner + 1]
        for part, inner in zip((q, v, a, a), chosen.hull(x, steps) if degree == chosen.inner + 1 else (), strict=False):
            powers = [part(np.polynomial.Polynomial([begin, 1.0])).coef[::-1] for begin in ends[:-1]]
            bernstein = BPoly.from_power_basis(PPoly(np.transpose(powers), ends)).c
            assert_allclose(np.reshape(inner, (-1, 3)), bernstein[1:-1], atol=1e-12)
        return max(np.abs(defect).max() for defect in [*chosen.defects(x, steps[np.newaxis]), *off])

    degree = chosen.inner + 1
    assert missed(degree) < 1e-14
    assert missed(degree + 1) > 1e-5


def test_a_motion_keeps_its_margin_from_the_limits_but_near_its_ends(prr):
    """There, within a fifth of a leg, the margin grows with the square of the time."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(prr))
    problem = Problem(dynamics, [0.1, 0.2, 0.3], JointGoal([0.5, -0.4, 0.8]), limit_margin=0.1)
    program = NonlinearProgram(problem, Mesh.uniform(1, 20), SCHEMES["trapezoidal"]())
    low, high = (program.unpack(each).q[1:-1] for each in (program.low, program.high))
    away = 0.1 * np.minimum(1.0, np.minimum(np.arange(1, 20), np.arange(19, 0, -1)) / 4.0)[:, np.newaxis] ** 2
    assert_allclose((low, high), (problem.bounds.lower + away, problem.bounds.upper - away), atol=1e-12)


@pytest.mark.parametrize(
    ("limit", "duration"), [({"velocity": 0.5}, 2.6), ({"effort": 4.0}, 2.0 * np.sqrt(1.3 * 2.0 / 4.0))]
)
def test_the_shortest_duration_of_a_slider_is_that_of_its_speed_or_its_effort(limit, duration):
    """There and back, 0.8 m and 0.5 m; it moves over 1 m, half of which is the unit of its positions."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(slider((-0.1, 0.9, 5.0, 40.0))))
    limits = MotionLimits.of(dynamics.robot, limit_ratio=1.0, **limit)
    problem = Problem(dynamics, [0.0], JointGoal([0.3]), via=(JointGoal([0.8], None),), limits=limits)
    assert shortest_duration(problem) == pytest.approx(duration)
    assert_allclose(position_units(problem), 0.5)


def test_a_sampled_motion_has_no_more_points_than_its_efforts_need():
    """Between them a straight line is off the parabola by the tolerance, at most; with two pieces fewer by more."""
    scheme, effort = SCHEMES["hermite-simpson"](), np.array([[1.0], [4.0], [-3.0]])
    curve = Trajectory([0.0, 0.3, 0.6], np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)))
    parabola = np.polynomial.Polynomial.fit([0.0, 0.3, 0.6], effort[:, 0], 2)
    fine = np.linspace(0.0, 0.6, 5001)
    for tolerance in (0.3, 0.01):
        times = sample_motion(scheme, curve, effort, np.array([tolerance])).trajectory.times
        fewer = np.linspace(0.0, 0.6, len(times) - 2)
        enough, less = (np.abs(np.interp(fine, at, parabola(at)) - parabola(fine)).max() for at in (times, fewer))
        assert enough <= tolerance < less


def test_where_time_alone_counts_efforts_and_accelerations_break_ties(prr):
    """With every effort at its limit for 0.7 s, 1e-3 · 0.7 s for each joint; little for accelerations too."""
    problem = Problem(rd.create_dynamics("rnea", rd.load_robot(prr)), [0.1, 0.2, 0.3], JointGoal([0.5, -0.4, 0.8]))
    for scheme in SCHEMES.values():
        program = NonlinearProgram(problem, Mesh.uniform(1, 3), scheme())
        objective = ca.Function("objective", [program.x], [program.objective])
        x = np.append(np.zeros(program.x.numel() - 3), [0.7, 0.7, 0.7])
        unknowns = x[:-3].reshape(4, -1)  # q, qd, qdd, efforts
        assert float(objective(x)) == pytest.approx(0.7)
        unknowns[3] = 1.0
        assert float(objective(x)) == pytest.approx(0.7 * (1.0 + 3 * 1e-3))
        unknowns[2] = 1.0
        assert float(objective(x)) / (0.7 * (1.0 + 3 * 1e-3)) - 1.0 > 1e-4


SHAPES = {
    '<box size="0.6 0.2 0.4"/>': ([[-0.3, 0.0, 0.0], [0.3, 0.0, 0.0]], np.hypot(0.1, 0.2)),
    '<cylinder radius="0.1" length="0.5"/>': ([[0.0, 0.0, -0.25], [0.0, 0.0, 0.25]], 0.1),
    '<capsule radius="0.1" length="0.5"/>': ([[0.0, 0.0, -0.25], [0.0, 0.0, 0.25]], 0.1),
    '<sphere radius="0.15"/>': (np.zeros((2, 3)), 0.15),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_within_the_least_capsule_along_its_longest_axis(shape):
    """Placed at (0.1, 0.2, 0.3) and turned by 90° about z: x becomes y."""
    tag = f'<collision><origin xyz="0.1 0.2 0.3" rpy="0 0 {np.pi / 2}"/><geometry>{shape}</geometry></collision>'
    tag += '<visual><geometry><sphere radius="9"/></geometry></visual>'  # the collision counts
    arm = rd.load_robot(lesson_arm().replace('<link name="link1">', f'<link name="link1">{tag}', 1))
    ends, radius = SHAPES[shape]
    (found,) = [capsule for capsule in capsules(arm) if capsule.link == arm.bodies[0].name]
    placed = [[0.1 - y, 0.2 + x, 0.3 + z] for x, y, z in ends]
    assert_allclose([found.start, found.end], placed, atol=1e-12)
    assert found.radius == pytest.approx(radius)


def test_a_mesh_is_a_capsule_to_the_next_joint_also_beside_a_shape():
    """As of a link with a camera on it."""
    shapes = ('<mesh filename="a.stl"/>', '<sphere radius="0.15"/>')
    tags = "".join(f"<collision><geometry>{shape}</geometry></collision>" for shape in shapes)
    bare, arm = (
        [one for one in capsules(rd.load_robot(text)) if one.link == "link1"]
        for text in (lesson_arm(), lesson_arm().replace('<link name="link1">', f'<link name="link1">{tags}', 1))
    )
    assert [one.radius for one in arm] == [0.15, bare[0].radius]
    assert_allclose(arm[1].end, bare[0].end)


def test_distances_against_points_on_the_capsules(prr):
    """No greater than that of any of them, which is what keeps them apart, and less by the cover's growth at most."""
    robot = rd.load_robot(prr)
    kinematics, rng = rd.Kinematics(robot), np.random.default_rng(3)
    bodies = [capsule for capsule in capsules(robot) if capsule.link in ("arm", "hand")]
    wall = box("wall", (0.5, 0.05, 0.9), (0.2, 0.3, 0.5), (0.2, -0.4, 0.3))
    assert np.array_equal(box("upright", (0.5, 0.05, 0.9), (0.2, 0.3, 0.5)).rotation, np.eye(3))
    for obstacle in (sphere("ball", (0.5, 0.1, 1.0), 0.15), wall):
        clearance = Clearance(robot, bodies, [obstacle])
        for q in rng.uniform((0.0, -1.5, -1.0), (1.0, 1.5, 1.5), (20, 3)):
            found, pair, _ = clearance.nearest(q)
            assert pair.obstacle == obstacle.name
            true = np.inf
            for capsule in bodies:
                pose = kinematics.pose(capsule.link, q)
                line = capsule.start + np.linspace(0, 1, 2001)[:, None] * (capsule.end - capsule.start)
                points = line @ pose[:3, :3].T + pose[:3, 3] - obstacle.center
                if obstacle is wall:
                    beyond = np.abs(points @ wall.rotation) - wall.size / 2
                    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
                    distance = outside + np.minimum(beyond.max(axis=1), 0.0)
                else:
                    distance = np.linalg.norm(points, axis=1) - obstacle.radius
                true = min(true, float(distance.min()) - capsule.radius)
            assert true - 0.15 * 0.07 - 1e-3 < found
            assert found < max(true, 0.0) + 1e-6  # how deep it is inside does not matter


@pytest.mark.parametrize("size", [1e-3, 1.0, 20.0])
@pytest.mark.parametrize("radius", [0.0, 0.0005])
def test_a_line_and_a_wire_are_covered_by_few_balls(radius, size):
    """However large they are."""
    tag = f'<visual><geometry><cylinder radius="{radius * size}" length="{0.5 * size}"/></geometry></visual>'
    arm = rd.load_robot(resized(lesson_arm(), size).replace('<link name="link1">', f'<link name="link1">{tag}', 1))
    (wire,) = [one for one in capsules(arm) if one.link == "link1"]
    centres, ball = _cover(wire)
    assert np.hypot(np.diff(centres).max() / 2.0 * 0.5 * size, wire.radius) <= ball  # no edge reaches it between two
    for wall, gap in (
        (box("wall", (0.5 * size, 0.0, 0.0), (0.2 * size, 2.0 * size, 2.0 * size)), 0.4),
        (sphere("ball", (0.5 * size, 0.0, 0.0), 0.1 * size), 0.4),
    ):
        clearance = Clearance(arm, [wire], [wall])
        assert len(clearance.pairs) < 60
        assert gap - 0.006 < clearance.nearest(np.zeros(arm.n))[0] / size <= gap - radius + 1e-9


def test_the_capsules_hold_the_shapes_of_the_urdf(prr):
    found = {capsule.link: capsule for capsule in capsules(rd.load_robot(prr)) if capsule.link == "arm"}
    assert set(found) == {"arm"}
    bare = capsules(rd.load_robot(lesson_arm()))
    assert [capsule.radius for capsule in bare] == [0.05] * len(bare) and len(bare) >= 2
    small = capsules(rd.load_robot(resized(lesson_arm(), 0.01)))
    longest = max(float(np.linalg.norm(capsule.end - capsule.start)) for capsule in bare)
    assert_allclose([capsule.radius for capsule in small], 0.2 * 0.01 * longest)
    assert {capsule.radius for capsule in capsules(rd.load_robot(lesson_arm()), 0.1)} == {0.1}


def test_a_goal_of_a_continuous_joint_is_in_the_turn_of_the_start(prr):
    model = SmoothModel(rd.create_dynamics("rnea", rd.load_robot(prr.replace("revolute", "continuous"))))
    found = JointGoal([0.3, -3.0, np.nan]).positions(model, np.array([0.1, 9.0, 7.0]))
    assert_allclose(found, [0.3, 4.0 * np.pi - 3.0, 7.0])


def test_a_tool_that_is_turned_by_half_a_turn_is_not_at_its_goal(prr):
    """The sine of the angle, which the solver has, is 0 there too."""
    robot, q = rd.load_robot(prr), np.array([0.5, 0.3, -1.2])
    model = SmoothModel(rd.create_dynamics("rnea", robot, compiled=False))
    goal = ToolGoal(rd.Kinematics(robot).pose("hand", q), "hand")
    turned = q + [0.0, 0.0, np.pi]  # about the origin of the hand
    assert_allclose(goal.residual(model)(turned), 0.0, atol=1e-12)
    assert [goal.error(model, at) for at in (q, turned)] == pytest.approx([0.0, np.pi])
    near = q + [1e-3, 2e-3, -1e-3]
    assert goal.error(model, near) == pytest.approx(np.abs(goal.residual(model)(near)).max(), rel=1e-5)


def test_obstacles_from_a_file(tmp_path):
    path = tmp_path / "shelf.yaml"
    path.write_text(
        "ball: {center: [1, 0, 2], radius: 0.3}\nwall: {center: [0, 0, 1], size: [1, 2, 3], rpy: [0, 0, 1]}\n"
    )
    ball, wall = read_obstacles(path)
    assert ball.radius == 0.3 and wall.name == "wall" and wall.rotation[0, 1] == pytest.approx(-np.sin(1.0))
    for text in (
        "- 1",
        "x: 3",
        "x: {center: [0, 0, 0]}",
        "x: {center: [0, 0, 0], 1: 2}",
        "x: {center: [0, 0], radius: 1}",
        "x: {center: [0, 0, 0], radius: -1}",
    ):
        path.write_text(text)
        with pytest.raises(InputError, match="obstacle"):
            read_obstacles(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_obstacles(tmp_path / "none.yaml")


def test_a_plan_survives_its_file(tmp_path):
    rows = np.arange(6.0).reshape(3, 2)
    plan = Plan(("a", "b"), np.array([0.0, 0.5, 1.0]), rows, 2 * rows, 3 * rows, 4 * rows, True, "solved")
    plan.save(tmp_path / "plan.json")
    again = Plan.load(tmp_path / "plan.json")
    assert again.joints == plan.joints and again.solved and np.isnan(again.cost)
    for name in ("times", "q", "qd", "qdd", "effort"):
        assert_allclose(getattr(again, name), getattr(plan, name), rtol=0, atol=0)
    motion = again.to_trajectory()
    assert_allclose(motion.efforts, plan.effort, rtol=0, atol=0)
    refused = Plan.from_json(
        Plan.refused(("a",), "too heavy", Violation("effort limit of 'a'", 2.0, "N"), "x", 0.1).to_json()
    )
    assert not refused.solved and refused.violation == ("effort limit of 'a'", 2.0, "N") and refused.duration == 0.0
    with pytest.raises(NotReadyError, match="too heavy"):
        refused.to_trajectory()
    for text in ("", "[]", "{}", plan.to_json().replace("true", "1"), plan.to_json().replace('"q"', '"p"')):
        with pytest.raises(InputError):
            Plan.from_json(text)


def test_limits(prr):
    robot = rd.load_robot(prr)
    limits = MotionLimits.of(robot, limit_ratio=0.5, acceleration=7.0)
    assert_allclose(limits.effort, 0.5 * robot.effort_limit)
    assert_allclose(limits.velocity, 0.5 * robot.velocity_limit)
    assert_allclose(limits.acceleration, 7.0)
    for wrong in ({"limit_ratio": 0.0}, {"limit_ratio": 1.1}, {"effort": -1.0}, {"velocity": [1.0, 2.0]}):
        with pytest.raises(InputError):
            MotionLimits.of(robot, **wrong)
