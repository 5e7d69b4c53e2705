# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Clauses about the runtime parameters, and about the arguments and results of a call.

The parameters are gravity, payload, armature, friction and inertial parameters. A call takes one state or many,
whoever owns their memory.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.dynamics.base import RESULTS
from robodyn_ros.dynamics.conformance import subject as kit
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY, Parameters, Payload, standard_parameters
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

ROOT = "the root link"
"""Stands for the name of the link that does not move, which depends on the arm."""

SIDEWAYS = (3.1, -2.2, -8.7)  # [m/s²]


def _changes(robot: Robot) -> dict[str, Any]:
    """Another value for every parameter."""
    n = robot.n
    held = Payload(robot.bodies[-1].name, 1.3, (0.1, -0.2, 0.3), np.diag([0.03, 0.04, 0.05]))
    return {
        "gravity": SIDEWAYS,
        "payload": held,
        "armature": np.linspace(0.2, 0.5, n),
        "viscous": np.linspace(0.3, 0.9, n),
        "coulomb": np.linspace(2.1, 1.1, n),
        "inertial": np.linspace(1.1, 1.3, len(robot.bodies)).repeat(10) * standard_parameters(robot),
    }


PARAMETERS = pytest.mark.parametrize("parameter", [field.name for field in fields(Parameters)])


def _right(subject: kit.Subject, clause: str) -> None:
    """Everything agrees with the definition under the parameters of now, unless the numbers are the plugin's own."""
    if kit.has_own_numbers:
        return
    state, dynamics = subject.state(), subject.dynamics
    for method in kit.DEFINED:
        subject.check_defined(method, state, f"{clause}: {method}")
    q, qd, qdd = state
    condition = max(1.0, float(np.linalg.cond(subject.definition.mass_matrix(q))))
    kit.same(dynamics.forward(q, qd, dynamics.inverse(q, qd, qdd)), qdd, f"{clause}: forward", 1e-12 * condition)


def test_gravity_is_standard_unless_told_otherwise(name: str) -> None:
    """9.81 m/s² along -z of the root link."""
    arm = kit.Subject(name, kit.arm_like("branches"))
    kit.same(arm.dynamics.gravity_vector, STANDARD_GRAVITY, "gravity_vector: standard gravity by default", 0.0)
    _right(arm, "standard gravity")


def test_gravity_is_a_vector_of_the_constructor(name: str) -> None:
    """``create_dynamics(name, robot, gravity=...)`` mounts the arm any way up."""
    arm = kit.Subject(name, kit.arm_like("branches"), gravity=SIDEWAYS)
    kit.same(arm.dynamics.gravity_vector, SIDEWAYS, "gravity_vector: the given one", 0.0)
    _right(arm, "gravity along no axis")


@pytest.mark.of_the_urdf
def test_without_gravity_nothing_has_weight(simple: kit.Subject) -> None:
    """``configure(gravity=(0, 0, 0))``: g(q) and potential energy are zero."""
    simple.dynamics.configure(gravity=(0, 0, 0))
    q, qd, _ = simple.state()
    kit.same(simple.dynamics.gravity(q), np.zeros(simple.n), "gravity: zero without gravity", 1e-14)
    kit.same(simple.dynamics.energy(q, qd).potential, 0.0, "energy: no potential without gravity", 1e-14)


@PARAMETERS
@pytest.mark.of_the_urdf
def test_a_parameter_may_be_given_to_the_constructor(name: str, arm: str, parameter: str) -> None:
    """Each parameter is taken into account by every method, on every arm."""
    change = {parameter: _changes(rd.load_robot(kit.ARMS[arm]))[parameter]}
    _right(kit.Subject(name, kit.ARMS[arm], **change), f"{parameter} given to the constructor")


@PARAMETERS
def test_a_parameter_may_change_while_running(simple: kit.Subject, parameter: str) -> None:
    """``configure`` changes methods that have been called before, for one state and for many."""
    states = simple.states(4)
    simple.all(*states), simple.all(*states[:, 0])
    change = {parameter: _changes(simple.robot)[parameter]}
    simple.dynamics.configure(**change)
    _right(simple, f"{parameter} by configure")
    fresh = kit.Subject(simple.name, kit.arm_like(kit.PLAIN), **change)
    simple.check_all(fresh.all(*states), states, "after configure as if constructed so", kit.EXACT)


def test_what_is_not_named_stays(simple: kit.Subject) -> None:
    """``configure`` one parameter after the other leads to the same as all at once."""
    changes = _changes(simple.robot)
    for name, value in changes.items():
        simple.dynamics.configure(**{name: value})
    _right(simple, "all parameters, one after the other")
    fresh = kit.Subject(simple.name, kit.arm_like(kit.PLAIN), **changes)
    values = simple.state()
    simple.check_all(fresh.all(*values), values, "parameters not named in configure must stay", kit.EXACT)


@pytest.mark.of_the_urdf
@pytest.mark.of_the_kit
def test_a_payload_is_as_good_as_a_link(name: str) -> None:
    """Held or built in, the same tool at the same flange has the same dynamics; put down, it is gone."""
    built_in, holding = kit.Subject(name, kit.tool_arm(held=True)), kit.Subject(name, kit.tool_arm(held=False))
    values = built_in.states(4)
    empty = holding.all(*values)
    mass, com, moments = kit.TOOL
    xx, xy, xz, yy, yz, zz = map(float, moments.split())
    inertia = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    holding.dynamics.configure(payload=Payload("flange", float(mass), [float(x) for x in com.split()], inertia))
    holding.check_all(built_in.all(*values), values, "a payload is as good as a link", 1e-9)
    holding.dynamics.configure(payload=None)
    holding.check_all(empty, values, "without payload as before it", kit.EXACT)


def test_friction_opposes_motion(simple: kit.Subject) -> None:
    """τ has viscous · q̇ + coulomb · sign(q̇) in it; forward dynamics take it off; there is none at rest."""
    q, qd, qdd = simple.state()
    viscous, coulomb = np.linspace(0.3, 0.9, simple.n), np.linspace(2.1, 1.1, simple.n)
    tau, acceleration = simple.dynamics.inverse(q, qd, qdd), simple.dynamics.forward(q, qd, qdd)
    still = simple.dynamics.inverse(q, np.zeros_like(qd), qdd)
    simple.dynamics.configure(viscous=viscous, coulomb=coulomb)
    friction = viscous * qd + coulomb * np.sign(qd)
    kit.same(simple.dynamics.inverse(q, qd, qdd), tau + friction, "inverse: friction opposes the motion")
    kit.same(simple.dynamics.forward(q, qd, qdd + friction), acceleration, "forward: friction opposes the motion", 1e-9)
    kit.same(simple.dynamics.inverse(q, np.zeros_like(qd), qdd), still, "inverse: no friction at rest")


def test_objects_do_not_share_parameters(name: str) -> None:
    """Two objects for the same arm are independent."""
    one, other = (kit.Subject(name, kit.arm_like("branches")) for _ in range(2))
    values = one.state()
    expected = one.all(*values)
    other.dynamics.configure(**_changes(other.robot))
    one.check_all(expected, values, "another object's parameters are its own", 0.0)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("gravity", (0, 0)),
        ("gravity", (0, 0, np.nan)),
        ("gravity", "down"),
        ("gravity", None),
        ("armature", -np.ones(3)),
        ("armature", np.ones((2, 2))),
        ("viscous", np.array([1.0, np.inf, 1.0])),
        ("viscous", -np.ones(3)),
        ("coulomb", 1.0),
        ("coulomb", -np.ones(3)),
        ("inertial", np.ones(3)),
        ("payload", 2.0),
        ("link", Payload("no such link", 1.0)),
        ("payload", Payload(ROOT, 1.0)),
        ("colour", "blue"),
    ],
    ids=str,
)
def test_a_wrong_parameter_changes_nothing(simple: kit.Subject, argument: str, value: Any) -> None:
    """An InputError names it, and neither it nor the right values beside it are taken over."""
    parameter = argument.split()[0] if argument != "link" else "payload"
    if isinstance(value, Payload) and value.link == ROOT:
        value = replace(value, link=simple.robot.root)
    values = simple.state()
    before, parameters = simple.all(*values), simple.dynamics.parameters
    for given in ({parameter: value}, {"gravity": SIDEWAYS, "armature": np.ones(simple.n), parameter: value}):
        problem = kit.raised(simple.dynamics.configure, **given)
        wanted = f"configure({parameter}={value!r}) must raise an InputError that names {argument!r}"
        assert isinstance(problem, InputError), f"{wanted}; it raised {problem!r}"
        assert problem.name == argument, f"{wanted}; it names {problem.name!r}"
        assert simple.dynamics.parameters is parameters, "parameters must be the old ones after an error"
        simple.check_all(before, values, "a refused configure changes nothing", 0.0)
        problem = kit.raised(kit.Subject, simple.name, kit.arm_like(kit.PLAIN), **given)
        assert isinstance(problem, InputError), f"a constructor like {wanted}; it raised {problem!r}"


METHODS = pytest.mark.parametrize("method", kit.INPUTS)


@METHODS
def test_one_state_gives_one_result(subject: kit.Subject, method: str) -> None:
    """Arrays (n,) in; (n,), (n, n) or scalars out, of float64."""
    expected = (subject.n,) * len(RESULTS[method][1])
    for found in subject.call(method, *subject.state()):
        assert np.shape(found) == expected, f"{method}: one state must give shape {expected}, not {np.shape(found)}"
        assert np.asarray(found).dtype == np.float64, f"{method}: must give float64, not {np.asarray(found).dtype}"


@METHODS
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_many_states_give_as_many_results(subject: kit.Subject, method: str, count: int) -> None:
    """Arrays (N, n) in; (N, n), (N, n, n) or (N,) out, N = 0 and N = 1 included; row by row the result of one state."""
    values = subject.states(count)
    found = subject.call(method, *values)
    expected = (count, *(subject.n,) * len(RESULTS[method][1]))
    for whole in found:
        assert np.shape(whole) == expected, f"{method}: {count} states must give shape {expected}"
    for row in range(count):
        one = subject.call(method, *values[:, row])
        kit.same(
            tuple(whole[row] for whole in found),
            one,
            f"{method}: row {row} of many states is that one state",
            kit.EXACT,
        )


@METHODS
def test_n_states_of_n_joints_are_not_a_matrix(simple: kit.Subject, method: str) -> None:
    """As many states as joints: rows are states, columns joints."""
    values = simple.states(simple.n)
    found = simple.call(method, *values)
    one = simple.call(method, *values[:, 0])
    clause = f"{method}: the first row of {simple.n} states is the first state"
    kit.same(tuple(whole[0] for whole in found), one, clause)


@METHODS
@pytest.mark.parametrize("kind", kit.MEMORY)
def test_other_arrays_of_the_same_numbers(simple: kit.Subject, method: str, kind: str) -> None:
    """Any array of real numbers is accepted, in whatever memory, and not changed."""
    values = np.round(simple.states(4)[: len(kit.INPUTS[method])] * 4)  # exact in every type
    for given in (values, values[:, 0]):
        found = simple.call(method, *map(kit.MEMORY[kind], given))
        kit.same(found, simple.call(method, *given), f"{method}: takes {kind}", kit.EXACT)


@METHODS
def test_arguments_are_not_written_to(simple: kit.Subject, method: str) -> None:
    """The caller's arrays are as they were."""
    for values in (simple.state(), simple.states(4)):
        before = values.copy()
        simple.call(method, *values)
        kit.same(values, before, f"{method}: must not write to its arguments", 0.0)


@METHODS
def test_results_are_the_callers_own(simple: kit.Subject, method: str) -> None:
    """A result stays as it is whatever is called next, may be written to, and writing to it changes nothing else."""
    for values in (simple.state(), simple.states(4)):
        first = simple.call(method, *values)
        kept = tuple(np.array(part) for part in first)
        simple.call(method, *-values)
        kit.same(first, kept, f"{method}: a later call must not change an earlier result", 0.0)
        for part in first:
            if np.ndim(part):
                part[...] = 7.0
        kit.same(simple.call(method, *values), kept, f"{method}: writing to a result must not change the next one", 0.0)


# Clauses about refused arguments: an InputError that names the argument, and an object that still works.

ARGUMENTS = pytest.mark.parametrize(("method", "argument"), [(m, a) for m, names in kit.INPUTS.items() for a in names])


@ARGUMENTS
def test_wrong_shapes_and_types_are_refused(simple: kit.Subject, method: str, argument: str) -> None:
    """Neither (n,) nor (N, n), or not of real numbers."""
    for what, wrong in kit.wrong_arguments(simple.n).items():
        _refused(simple, method, argument, simple.state(), wrong, what)


@ARGUMENTS
def test_nan_and_infinity_are_refused(simple: kit.Subject, method: str, argument: str) -> None:
    """A NaN or an infinity at any place, even where the result would not depend on it."""
    for values in (simple.state(), simple.states(5)):
        for place in np.ndindex(values[0].shape):
            for value in (np.nan, np.inf, -np.inf):
                bad = values[0].copy()
                bad[place] = value
                _refused(simple, method, argument, values, bad, f"{value} at {place}")


@pytest.mark.parametrize("method", [method for method, names in kit.INPUTS.items() if len(names) > 1])
def test_arguments_must_be_of_the_same_number_of_states(simple: kit.Subject, method: str) -> None:
    """All one state, or all N of them: nothing is broadcast."""
    few, many = simple.states(4)[: len(kit.INPUTS[method])], simple.states(5)[: len(kit.INPUTS[method])]
    for given in ([few[0], *many[1:]], [few[0, 0], *few[1:]]):
        shapes = " and ".join(str(np.shape(value)) for value in given)
        wanted = f"{method}: arguments of shapes {shapes} must raise InputError"
        problem = kit.raised(getattr(simple.dynamics, method), *given)
        assert isinstance(problem, InputError), f"{wanted}; it raised {problem!r}"


def test_an_error_leaves_the_object_as_it_was(simple: kit.Subject) -> None:
    """After an InputError the next call is right."""
    values = simple.state()
    expected = simple.all(*values)
    for method, names in kit.INPUTS.items():
        for bad in (np.full(simple.n, np.nan), np.full((3, simple.n), np.inf), np.zeros(simple.n + 1)):
            with pytest.raises(InputError):
                getattr(simple.dynamics, method)(*[bad] * len(names))
    simple.check_all(expected, values, "after an error as before it", 0.0)


def _refused(subject: kit.Subject, method: str, argument: str, values: Any, bad: Any, what: str) -> None:
    """Fail unless a bad argument raises an InputError that names it."""
    given = dict(zip(kit.INPUTS[method], values, strict=False)) | {argument: bad}
    wanted = f"{method}: {what} for {argument} must raise an InputError that names {argument!r}"
    problem = kit.raised(getattr(subject.dynamics, method), *given.values())
    assert isinstance(problem, InputError), f"{wanted}; it raised {problem!r}"
    assert problem.name == argument, f"{wanted}; it names {problem.name!r}"
