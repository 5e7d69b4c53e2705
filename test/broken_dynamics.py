# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics plugins with one fault each, for the conformance kit to find; and one without.

``clause`` is the test of the kit that must fail, ``says`` what it must say.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from robodyn_ros.dynamics import Dynamics, Energy, Parameters
from robodyn_ros.dynamics.base import RESULTS
from robodyn_ros.dynamics.parameters import parameters_of, to_inertial
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.engine import program
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import read_only


def handed_on(method: str) -> Callable[..., Any]:
    """A method that asks the right plugin."""
    return lambda self, *states: getattr(self.right, method)(*states)


class Faultless(Dynamics):
    """A plugin of the contract and nothing more: it hands everything on to a right one."""

    inverse, forward, mass_matrix, coriolis_matrix, gravity, energy = map(handed_on, RESULTS)

    def __init__(self, robot: Robot, **parameters: Any) -> None:
        super().__init__(robot, **parameters)
        self.right = RNEA(self.arm(robot), **parameters)
        self.apply(self.parameters)

    def arm(self, robot: Robot) -> Robot:
        return robot

    def apply(self, parameters: Parameters) -> None:
        self.right.apply(parameters)


def fault(method: str, clause: str, says: str) -> Callable[[Any], type[Faultless]]:
    """A plugin whose only fault is a method: the clause of the kit that must find it, and what that says."""

    def plugin(wrong: Any) -> type[Faultless]:
        own = {"__module__": __name__, "clause": clause, "says": says, method: wrong}
        return type(wrong.__name__, (Faultless,), own)

    return plugin


@fault("gravity", "test_gravity_follows_from_the_weight_of_the_bodies", "gravity: the efforts that hold the arm")
def GravityUpwards(self, q: Any) -> Any:
    return -self.right.gravity(q)


@fault("gravity", "test_numbers_are_in_the_order_of_robot_joints", "found by its place in robot.joints")
def OrderOfTheFile(self, q: Any) -> Any:
    """Joints as the URDF lists them."""
    names, urdf = self.robot.joint_names, self.robot.urdf
    order = sorted(range(len(names)), key=lambda k: urdf.index(f'joint name="{names[k]}"'))
    return self.right.gravity(q)[..., order]


@fault("apply", "test_mass_matrix_follows_from_the_kinetic_energy_of_the_bodies", "mass_matrix: relative error")
def CentresSwapped(self, parameters: Parameters) -> None:
    """The last two bodies have each other's centre of mass, as the PRR's lc2 and lc3."""
    theta = parameters.inertial.reshape(-1, 10).copy()
    if theta[-2:, 0].all():
        bodies = [to_inertial(row) for row in theta[-2:]]
        theta[-2:] = [parameters_of(replace(bodies[k], com=bodies[1 - k].com)) for k in (0, 1)]
    self.right.apply(replace(parameters, inertial=theta.ravel()))


@fault("coriolis_matrix", "test_coriolis_matrix_is_of_christoffel_symbols", "coriolis_matrix: Christoffel symbols")
def AnotherCoriolisMatrix(self, q: Any, qd: Any) -> Any:
    """C q̇ is right, C is not of Christoffel symbols."""
    C = self.right.coriolis_matrix(q, qd)
    rates = np.asarray(qd, dtype=float)
    C[..., 0, 0] += rates[..., 1]
    C[..., 0, 1] -= rates[..., 0]
    return C


@fault("gravity", "test_nan_and_infinity_are_refused", "gravity: -inf at (0,) for q must raise an InputError")
def SwallowsInfinity(self, q: Any) -> Any:
    try:
        return self.right.gravity(q)
    except InputError as problem:
        if "finite" not in str(problem) or not np.isneginf(q).any():
            raise
        return np.full(np.shape(q), np.nan)


@fault("forward", "test_forward_dynamics_undo_inverse_dynamics", "forward: undoes inverse")
def RoundsAccelerations(self, q: Any, qd: Any, tau: Any) -> Any:
    """To some seven digits."""
    return self.right.forward(q, qd, tau) * (1.0 + 1e-7)


@fault("forward", "test_wrong_shapes_and_types_are_refused", "it raised TypeError(")
def RaisesSomethingElse(self, q: Any, qd: Any, tau: Any) -> Any:
    try:
        return self.right.forward(q, qd, tau)
    except InputError as problem:
        raise TypeError(str(problem)) from problem


@fault("gravity", "test_wrong_shapes_and_types_are_refused", "it raised OverflowError(")
def IntegerOverflows(self, q: Any) -> Any:
    """An integer beyond float64 is refused as Python does."""
    if isinstance(q, list) and len(q) == self.robot.n and all(isinstance(each, int) for each in q):
        q = [float(each) for each in q]
    return self.right.gravity(q)


@fault("gravity", "test_wrong_shapes_and_types_are_refused", "one number too few for q must raise")
def FillsUpWithZeros(self, q: Any) -> Any:
    return self.right.gravity(np.append(q, 0.0) if np.shape(q) == (self.robot.n - 1,) else q)


@fault("forward", "test_wrong_shapes_and_types_are_refused", "it names 'effort'")
def NamesAnotherArgument(self, q: Any, qd: Any, tau: Any) -> Any:
    try:
        return self.right.forward(q, qd, tau)
    except InputError as problem:
        raise InputError("effort" if problem.name == "tau" else problem.name, str(problem)) from problem


@fault("inverse", "test_arguments_must_be_of_the_same_number_of_states", "must raise InputError")
def Broadcasts(self, q: Any, qd: Any, qdd: Any) -> Any:
    try:
        return self.right.inverse(q, qd, qdd)
    except InputError as problem:
        if problem.name != "arguments":
            raise
        return np.zeros_like(qdd)


@fault("mass_matrix", "test_mass_matrix_is_symmetric", "mass_matrix: symmetric")
def UpperTriangle(self, q: Any) -> Any:
    """As a composite-rigid-body algorithm leaves it."""
    return np.triu(self.right.mass_matrix(q))


@fault("gravity", "test_results_are_the_callers_own", "a later call must not change an earlier result")
def KeepsItsResult(self, q: Any) -> Any:
    """Every result is in the same memory."""
    found = self.right.gravity(q)
    if not hasattr(self, "own") or self.own.shape != found.shape:
        self.own = found
    self.own[...] = found
    return self.own


@fault("gravity", "test_arguments_are_not_written_to", "must not write to its arguments")
def WritesToItsArguments(self, q: Any) -> Any:
    found = self.right.gravity(q)
    if isinstance(q, np.ndarray) and q.flags.writeable and q.dtype == float:
        q += 1.0
    return found


@fault("gravity", "test_other_arrays_of_the_same_numbers", "takes big-endian")
def ReadsMemoryAsItIs(self, q: Any) -> Any:
    """What is big-endian is not."""
    if isinstance(q, np.ndarray) and q.dtype == ">f8":
        q = q.view("<f8")
    return self.right.gravity(q)


@fault("mass_matrix", "test_many_states_give_as_many_results", "0 states must give shape (0, 3, 3)")
def NoEmptyBatch(self, q: Any) -> Any:
    found = self.right.mass_matrix(q)
    return found if len(found) else np.zeros(0)


@fault("gravity", "test_n_states_of_n_joints_are_not_a_matrix", "the first row of 3 states is the first state")
def ColumnsAreStates(self, q: Any) -> Any:
    """(n, n) is taken for n joints of n states."""
    found = self.right.gravity(q)
    square = found.ndim == 2 and found.shape[0] == found.shape[1]
    return self.right.gravity(np.asarray(q).T).T if square else found


@fault("inverse", "test_terms_add_up_to_inverse_dynamics", "the sum of M q̈, C q̇ and g")
def SinglePrecision(self, q: Any, qd: Any, qdd: Any) -> Any:
    return self.right.inverse(q, qd, qdd).astype(np.float32).astype(float)


@fault("terms", "test_terms_of_a_control_law", "terms: coriolis")
def TermsWithFriction(self, q: Any, qd: Any, qdd: Any, correction: Any) -> Any:
    """As if the terms were parts of inverse dynamics with all that is in it."""
    parameters, found = self.parameters, Dynamics.terms(self, q, qd, qdd, correction)
    friction = parameters.viscous * qd + parameters.coulomb * np.sign(qd)
    return found._replace(coriolis=found.coriolis + friction)


@fault("inverse", "test_inverse_dynamics_follow_from_the_definition", "without the friction of the URDF")
def FrictionFromTheFile(self, q: Any, qd: Any, qdd: Any) -> Any:
    """The URDF's friction, which nobody asked for."""
    damping = np.array([joint.damping for joint in self.robot.joints])
    return self.right.inverse(q, qd, qdd) + damping * np.asarray(qd, dtype=float)


class ForwardWithoutArmature(Faultless):
    clause = "test_a_parameter_may_change_while_running"
    says = "armature by configure: forward"

    def forward(self, q: Any, qd: Any, tau: Any) -> Any:
        armature = self.right.parameters.armature
        self.right.configure(armature=0 * armature)
        try:
            return self.right.forward(q, qd, tau)
        finally:
            self.right.configure(armature=armature)

    def apply(self, parameters: Parameters) -> None:
        self.right.apply(parameters)
        self.right.parameters = parameters


@fault("apply", "test_a_payload_is_as_good_as_a_link", "a payload is as good as a link")
def IgnoresThePayload(self, parameters: Parameters) -> None:
    self.right.apply(parameters)  # refuses what is wrong
    self.right.apply(replace(parameters, payload=None))


@fault("arm", "test_mass_matrix_follows_from_the_kinetic_energy_of_the_bodies", "mass_matrix: relative error")
def IgnoresMimic(self, robot: Robot) -> Robot:
    """The followers stand still."""
    bodies = (replace(body, ratio=0.0) if body.joint.mimic else body for body in robot.bodies)
    return replace(robot, bodies=tuple(bodies))


@fault("arm", "test_gravity_follows_from_the_weight_of_the_bodies", "gravity: the efforts that hold the arm")
def IgnoresAxes(self, robot: Robot) -> Robot:
    """Every axis points along the frame's own z."""
    joints = (replace(body.joint, axis=read_only([0.0, 0.0, 1.0])) for body in robot.bodies)
    bodies = (replace(body, joint=joint) for body, joint in zip(robot.bodies, joints, strict=True))
    return replace(robot, bodies=tuple(bodies))


@fault("configure", "test_a_wrong_parameter_changes_nothing", "parameters must be the old ones after an error")
def HalfConfigured(self, **parameters: Any) -> None:
    """A refused configure leaves some of it behind."""
    if "gravity" in parameters and len(parameters) > 1:
        Dynamics.configure(self, gravity=parameters.pop("gravity"))
    Dynamics.configure(self, **parameters)


class SharesParameters(Faultless):
    """One arm for all objects."""

    clause = "test_objects_do_not_share_parameters"
    says = "another object's parameters are its own"

    made: ClassVar[dict[str, RNEA]] = {}

    def __init__(self, robot: Robot, **parameters: Any) -> None:
        super().__init__(robot, **parameters)
        self.right = self.made.setdefault(robot.urdf, self.right)
        self.apply(self.parameters)


@fault("energy", "test_energy_is_that_of_the_bodies", "energy: (kinetic, potential)")
def PotentialFromElsewhere(self, q: Any, qd: Any) -> Any:
    """Potential energy is right but for a constant."""
    kinetic, potential = self.right.energy(q, qd)
    return Energy(kinetic, potential + 1.0)


FAULTS = {name: kind for name, kind in vars().items() if isinstance(kind, type) and hasattr(kind, "clause")}
"""Name of every plugin with a fault → its class."""


SHOWN = ("tilted, negative and long axes", "mimic joints")
"""Arms of the kit that show every fault: on others the same clauses fail."""


program.KEPT = 1000  # functions of one arm for all plugins: they hand on to the same right one


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """As a plugin of pytest, run for each fault only the clause that must find it, on as many arms as show all."""
    items[:] = [
        item
        for item in items
        if item.originalname == FAULTS[item.callspec.params["name"]].clause
        and item.callspec.params.get("arm", SHOWN[0]) in SHOWN
    ]
