# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin under test on an arm, and the expected values.

:class:`Definition` has the equations of motion from their definition: slow, short, and nobody's algorithm. The kinetic
energy of a body at pose (R, p) is ½ m v·v + ½ ω·I ω about its centre of mass, its potential energy -m g·c (Siciliano et
al., Robotics: Modelling, Planning and Control, section 7.1). Jacobians come from the axes of the joints, M = Σ m Jvᵀ Jv
+ Jωᵀ I Jω from them, and C from the Christoffel symbols of M, by differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import robodyn_ros as rd
from robodyn_ros.dynamics.base import RESULTS, Dynamics
from robodyn_ros.dynamics.parameters import Parameters, to_inertial
from robodyn_ros.plugins import load_whole
from robodyn_ros.robot import Pose, Robot
from robodyn_ros.robot.pose import Array, read_only

STEP = 1e-3
"""Step of the differences, whose error is of the fourth order in it [rad] or [m]."""


class Definition:
    """The arm's equations of motion under some parameters; one state at a time, arrays (n,)."""

    def __init__(self, robot: Robot, parameters: Parameters) -> None:
        """
        Args:
            robot: the arm.
            parameters: those of the plugin under test.
        """
        self.robot = robot
        self.parameters = parameters

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """τ = M q̈ + C q̇ + g + friction."""
        friction = self.parameters.viscous * qd + self.parameters.coulomb * np.sign(qd)
        inertia: Array = self.mass_matrix(q) @ qdd
        return inertia + self.coriolis_matrix(q, qd) @ qd + self.gravity(q) + friction

    def mass_matrix(self, q: Array) -> Array:
        """M(q), (n, n)."""
        M = np.diag(self.parameters.armature)
        for mass, _, inertia, jacobian in self._bodies(q):
            linear, angular = jacobian[:3], jacobian[3:]
            M = M + mass * linear.T @ linear + angular.T @ inertia @ angular
        return M

    def gravity(self, q: Array) -> Array:
        """g(q) = ∂P/∂q = -Σ m Jvᵀ g, (n,)."""
        down = self.parameters.gravity
        return -sum((mass * jacobian[:3].T @ down for mass, _, _, jacobian in self._bodies(q)), np.zeros(self.robot.n))

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) q̇_k, (n, n)."""
        slopes = np.stack([self._slope(q, unit) for unit in np.eye(self.robot.n)], axis=-1)
        return 0.5 * (slopes @ qd + np.einsum("ikj,k->ij", slopes, qd) - np.einsum("jki,k->ij", slopes, qd))

    def energy(self, q: Array, qd: Array) -> tuple[float, float]:
        """½ q̇·M q̇ and -Σ m g·c."""
        potential = -sum(mass * self.parameters.gravity @ com for mass, com, _, _ in self._bodies(q))
        return float(qd @ self.mass_matrix(q) @ qd / 2), float(potential)

    def _slope(self, q: Array, direction: Array) -> Array:
        """∂M/∂q along a direction, (n, n)."""
        ends = [self.mass_matrix(q + k * STEP * direction) for k in (-2, -1, 1, 2)]
        return (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * STEP)

    def _bodies(self, q: Array) -> list[tuple[float, Array, Array, Array]]:
        """Return mass, centre of mass (3,), inertia about it (3, 3), and the Jacobian there (6, n), linear rows above
        angular ones, of every body and the payload; all in the root link's frame.
        """
        placed: list[tuple[Pose, Array]] = []  # each with the Jacobian of its point at the root's origin
        for body in self.robot.bodies:
            before, jacobian = placed[body.parent] if body.parent >= 0 else (Pose(), np.zeros((6, self.robot.n)))
            joint = before @ body.placement
            axis, still = joint.rotation @ body.joint.axis, np.zeros(3)
            turning = np.concatenate([np.cross(joint.translation, axis), axis])
            screw = np.concatenate([axis, still]) if body.joint.is_prismatic else turning
            column = np.eye(self.robot.n)[body.coordinate]
            pose = joint @ body.joint.motion(body.ratio * q[body.coordinate] + body.offset)
            placed.append((pose, jacobian + body.ratio * np.outer(screw, column)))
        inertials = [to_inertial(ten) for ten in self.parameters.inertial.reshape(-1, 10)]
        carried = list(zip(inertials, placed, strict=True))
        if self.parameters.payload is not None:
            link = self.robot.link(self.parameters.payload.link)
            carried.append((self.parameters.payload.inertial().seen_from(link.pose), placed[link.body]))
        found = []
        for inertial, (pose, jacobian) in carried:
            seen = inertial.seen_from(pose)
            there = jacobian + np.concatenate([np.cross(jacobian[3:], seen.com, axis=0), np.zeros_like(jacobian[3:])])
            found.append((seen.mass, seen.com, seen.inertia, there))
        return found


INPUTS = {
    method: ("q", "qd", "tau" if method == "forward" else "qdd")[:count] for method, (count, _) in RESULTS.items()
}
"""The methods of the contract and the names of their arguments."""

EXACT = 1e-10
"""Relative tolerance between two exact computations of a number."""

WIDENING = {"exact": 1.0, "numerical": 1e5, "learned": 1e5}
"""Tier that a plugin claims → factor of every tolerance."""

WIDEST = 1e-2
"""Greatest tolerance that this makes."""

widening = 1.0
"""That of the tier under test."""

has_own_numbers = False
"""True if the plugin under test was fitted to data, so that the URDF does not say its numbers."""

DIFFERENCES = 1e-7
"""Relative tolerance where one computation is a difference quotient."""

DEFINED = dict.fromkeys(("mass_matrix", "gravity", "energy"), EXACT) | {
    "coriolis_matrix": DIFFERENCES,
    "inverse": DIFFERENCES,
}
"""Method that :class:`Definition` has → relative tolerance between it and a plugin's."""


class Subject:
    """The plugin under test on one arm.

    Attributes:
        robot: the arm.
        n: its degrees of freedom.
        dynamics: the plugin's object.
    """

    def __init__(self, name: str, urdf: str, **parameters: Any) -> None:
        """
        Args:
            name: the plugin's.
            urdf: the arm's.
            **parameters: for the plugin's constructor.
        """
        self.name = name
        self.robot = rd.load_robot(urdf)
        self.n = self.robot.n
        self.dynamics: Dynamics = load_whole("dynamics", name)(self.robot, **parameters)

    @property
    def definition(self) -> Definition:
        """The expected values, for the parameters as they are now."""
        return Definition(self.robot, self.dynamics.parameters)

    def states(self, count: int, seed: int = 1) -> Array:
        """q, q̇ and q̈ (or τ), (3, count, n)."""
        return np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, self.n))

    def state(self, seed: int = 1) -> Array:
        """The first of ``states``, (3, n)."""
        return self.states(1, seed)[:, 0]

    def call(self, method: str, *values: Any) -> tuple[Array, ...]:
        """A method's results; the energy has two of them."""
        found = getattr(self.dynamics, method)(*values[: len(INPUTS[method])])
        return tuple(found) if method == "energy" else (found,)

    def all(self, *values: Any) -> dict[str, tuple[Array, ...]]:
        """Every method's results at q, q̇, q̈ or τ."""
        return {method: self.call(method, *values) for method in INPUTS}

    def check_defined(self, method: str, state: Array, clause: str) -> None:
        """Fail unless a method gives the numbers of the definition at q, q̇, q̈."""
        given = state[: len(INPUTS[method])]
        same(getattr(self.dynamics, method)(*given), getattr(self.definition, method)(*given), clause, DEFINED[method])

    def check_all(self, expected: dict[str, tuple[Array, ...]], values: Any, clause: str, tolerance: float) -> None:
        """Fail unless every method gives these results at q, q̇, q̈ or τ."""
        for method, right in expected.items():
            same(self.call(method, *values), right, f"{method}: {clause}", tolerance)


def raised(function: Callable[..., Any], *values: Any, **options: Any) -> Exception | None:
    """Return the exception that a call raises, or None."""
    try:
        function(*values, **options)
    except Exception as problem:  # whatever it is, it is looked at
        return problem
    return None


def same(found: Any, expected: Any, clause: str, tolerance: float = EXACT) -> None:
    """Fail unless two results, or tuples of them, agree relative to the greatest number in them.

    Args:
        found: the plugin's.
        expected: what is right.
        clause: what the contract asks for: the head of the message.
        tolerance: relative to the greatest expected number, or 1.
    """
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for got, right in pairs:
        a, b = np.asarray(got), np.asarray(right)
        assert a.shape == b.shape, f"{clause}: expected shape {b.shape}, found {a.shape}"
        scale = max(1.0, float(np.abs(b).max(initial=0.0)))
        error = float(np.abs(a - b).max(initial=0.0)) / scale
        allowed = min(widening * tolerance, max(tolerance, WIDEST))
        assert error <= allowed, f"{clause}: relative error {error:.2g} > {allowed:.0e}\nexpected\n{b}\nfound\n{a}"


def _unaligned(array: Array) -> Array:
    memory = np.empty(array.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return memory[1:].view(array.dtype).reshape(array.shape)


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


MEMORY: dict[str, Callable[[Array], Any]] = {
    "list": np.ndarray.tolist,
    "tuple": lambda array: _tuple(array.tolist()),
    "float32": lambda array: array.astype("f4"),
    "integers": lambda array: array.astype("i8"),
    "big-endian": lambda array: array.astype(">f8"),
    "Fortran order": np.asfortranarray,
    "every second number": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "backwards": lambda array: np.ascontiguousarray(array[..., ::-1])[..., ::-1],
    "read-only": read_only,
    "unaligned": _unaligned,
}
"""The same numbers in other memory."""


def wrong_arguments(n: int) -> dict[str, Any]:
    """What no argument of n joints is."""
    return {
        "a number": 1.0,
        "one number too few": np.zeros(n - 1),
        "one number too many": np.zeros(n + 1),
        "no numbers": np.zeros(0),
        "a column": np.zeros((n, 1)),
        "three axes": np.zeros((2, 2, n)),
        "ragged": [1, [2, 3]],
        "text": "abc",
        "words": ["a"] * n,
        "None": None,
        "complex": np.zeros(n, dtype=complex),
        "objects": np.array([object()] * n),
        "booleans": np.ones(n, dtype=bool),
        "beyond float64": [10**400] + [0] * (n - 1),
    }


def _link(name: str, mass: float = 0.0, com: str = "0 0 0", moments: str = "0 0 0 0 0 0", rpy: str = "0 0 0") -> str:
    """A link; moments are ixx, ixy, ixz, iyy, iyz, izz about the centre of mass."""
    if mass == 0.0:
        return f'<link name="{name}"/>'
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    inertia = " ".join(f'{key}="{value}"' for key, value in zip(names, moments.split(), strict=True))
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
        f"<inertia {inertia}/></inertial></link>"
    )


FRICTION = '<dynamics damping="0.37" friction="0.21"/>'
"""Friction that is not to be seen unless it is asked for."""


def _joint(
    name: str, kind: str, ends: str, axis: str = "1 0 0", xyz: str = "0 0 0", rpy: str = "0 0 0", extra: str = FRICTION
) -> str:
    """A joint; ends are its parent and child link."""
    parent, child = ends.split()
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<limit lower="-9" upper="9" velocity="5" effort="90"/>{extra}</joint>'
    )


def _robot(*parts: str) -> str:
    return f'<robot name="conformance">{"".join(parts)}</robot>'


TOOL = ("0.8", "0.03 0.04 0.05", "0.003 0.0004 -0.0002 0.0037 0.0005 0.0042")
"""Mass, centre of mass and moments of the tool in the arms with one, in its own link's frame."""


def tool_arm(held: bool) -> str:
    """An arm whose flange, fixed to the last link, holds the tool; or does not."""
    return _robot(
        _link("base"),
        _link("pedestal", 20.0, "0.01 0.02 0.3", "0.5 0 0 0.6 0 0.7"),
        _link("upper", 3.1, "0.02 -0.01 0.22", "0.06 0.002 0 0.055 0 0.014"),
        _link("sensor", 0.35, "0.015 0.025 0.035", "0.0011 0.0001 0 0.0013 0 0.0009", "0.2 0 0.5"),
        _link("fore", 1.45, "-0.04 0.06 0.17", "0.018 0 0.001 0.023 0 0.012"),
        _link("flange", float(TOOL[0]), *TOOL[1:]) if held else _link("flange"),
        _joint("plinth", "fixed", "base pedestal", "0 0 0", "0.4 -0.3 0.2", "0.1 -0.2 0.9"),
        _joint("shoulder", "revolute", "pedestal upper", "0 1 0.5", "0 0.05 0.61", "0.3 0 0"),
        _joint("bracket", "fixed", "upper sensor", "0 0 0", "0.07 0.01 0.13", "0.6 -0.4 0.2"),
        _joint("elbow", "revolute", "sensor fore", "-1 0 0", "0.03 -0.02 0.38", "0 1.1 0.4"),
        _joint("mount", "fixed", "fore flange", "0 0 0", "0.01 0.02 0.29", "0.25 0.35 0.45"),
    )


_TREE = (
    _link("base"),
    _link("torso", 6.1, "0.03 -0.02 0.26", "0.21 0.01 0 0.19 0 0.12"),
    _link("left", 1.6, "0.04 0.15 -0.03", "0.022 0.001 0.002 0.013 0 0.025"),
    _link("hand", 0.77, "0.05 0.06 0.09", "0.0061 0 0 0.0072 0 0.0083"),
    _link("right", 2.2, "-0.06 -0.14 0.08", "0.031 0 0.003 0.024 0 0.037", "0.2 0.4 0.6"),
    _joint("waist", "revolute", "base torso", "0 0 1", "0 0 0.15"),
    _joint("z_left", "revolute", "torso left", "1 0 0.2", "-0.01 0.28 0.47", "-0.2 0.6 0.3"),
    _joint("a_wrist", "revolute", "left hand", "0 -2 0", "0.01 0.32 0.04", "0.7 0.1 0.2"),
    _joint("m_right", "prismatic", "torso right", "1 -1 0.5", "0.02 -0.24 0.43", "0.5 -0.3 -0.9"),
)


def tree(reverse: bool = False) -> str:
    """A torso with two unequal arms; reversed, the same arm with its links and joints listed backwards."""
    return _robot(*(reversed(_TREE) if reverse else _TREE))


PLAIN = "prismatic and revolute joints"
"""Name of the arm for clauses that do not depend on the arm."""

FOLLOWER = '<mimic joint="finger" multiplier="1.25" offset="0.035"/>'
TURNER = '<mimic joint="follower" multiplier="-2.5" offset="0.4"/>'

ARMS = {
    PLAIN: _robot(
        _link("base"),
        _link("slide", 4.4, "0.09 0.05 0.14", "0.05 0.003 0 0.07 0 0.06"),
        _link("upper", 2.9, "0.17 0.01 -0.06", "0.033 0 0.004 0.041 0 0.029"),
        _link("fore", 1.3, "0.11 0.02 0.07", "0.019 0.002 0 0.014 0.001 0.022"),
        _joint("lift", "prismatic", "base slide", "0 0 1", "0 0 0.2"),
        _joint("shoulder", "revolute", "slide upper", "0 1 0", "0.1 0 0.3"),
        _joint("elbow", "revolute", "upper fore", "0 1 0", "0.4 0 0"),
    ),
    "tilted, negative and long axes": _robot(
        _link("base"),
        _link("a", 2.3, "0.11 -0.07 0.19", "0.031 0.004 -0.002 0.043 0.003 0.052", "0.4 -0.7 1.1"),
        _link("b", 1.7, "-0.05 0.13 0.17", "0.021 -0.003 0.005 0.017 0.001 0.026", "-1.3 0.2 0.6"),
        _link("c", 0.9, "0.02 0.03 0.23", "0.012 0.002 0.001 0.011 -0.0015 0.009", "0.9 1.9 -0.5"),
        _joint("ja", "revolute", "base a", "0.3 -2.0 0.7", "0.1 0.2 0.35", "0.15 0.25 -0.45"),
        _joint("jb", "prismatic", "a b", "-3.0 0.5 4.0", "0.06 -0.04 0.41", "-0.8 0.33 0.21"),
        _joint("jc", "continuous", "b c", "0 0 -5", "0.03 0.27 -0.12", "1.2 -0.55 2.1"),
    ),
    "links fixed to moving ones": tool_arm(held=True),
    "branches": tree(),
    "mimic joints": _robot(
        _link("base"),
        _link("arm", 1.15, "0.02 0.01 0.24", "0.013 0 0.001 0.016 0 0.009"),
        _link("left", 0.21, "0.01 0.03 0.05", "0.0005 0 0 0.0006 0 0.0004"),
        _link("right", 0.26, "-0.02 -0.04 0.06", "0.0007 0 0 0.0008 0 0.0009"),
        _link("thumb", 0.14, "0.015 0.07 0.025", "0.0002 0 0 0.0003 0 0.00025"),
        _joint("shoulder", "revolute", "base arm", "0 1 0"),
        _joint("finger", "prismatic", "arm left", "0 1 0.1", "0.01 0.02 0.45"),
        _joint("follower", "prismatic", "arm right", "0 -1 0.2", "0.015 -0.03 0.47", extra=FOLLOWER),
        _joint("turner", "revolute", "right thumb", "1 0 0.3", "0.02 0.01 0.03", "0.1 0.2 0.3", TURNER),
    ),
    "a link without mass between joints": _robot(
        _link("base"),
        _link("a", 1.9, "0 0 0", "0.03 0 0 0.04 0 0.05"),
        _link("cross"),
        _link("c", 1.3, "0.08 0.21 0.16", "0.013 0 0 0.019 0 0.016"),
        _joint("ja", "revolute", "base a"),
        _joint("jb", "revolute", "a cross", "0 1 0", "0.05 0.1 0.2", "0.2 0.9 -0.3"),
        _joint("jc", "revolute", "cross c", "0 0 1", "0.14 0 0.37"),
    ),
}


KITS_OWN = frozenset(ARMS)
"""Names of the arms that belong to the kit."""


def serve_only(paths: Sequence[str]) -> None:
    """Put the arms of these URDFs in the place of the kit's own."""
    ARMS.clear()
    ARMS.update({path: path for path in paths})


def arm_like(name: str) -> str:
    """The arm of the kit of a name, or the first of the arms that the plugin serves."""
    return ARMS.get(name, next(iter(ARMS.values())))
