# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm in MuJoCo: an independent second plant, with contact between bodies.

MuJoCo's own importer reads the same URDF. Its changes to the arm are undone: it refuses or alters bodies without mass
and inertias at the limit of physical possibility, and it has no payload, armature or the parameters
given to the dynamics.

**Validation.** :func:`validate` compares the native equations of motion and the native plant with MuJoCo, over random
states and motions. The equations are compared state by state, without friction. Joints that mimic others are joints of
their own in MuJoCo, coupled by their ratios; its plant cannot couple them rigidly, so arms with such joints make no
motions.

The plants are compared over motions between random poses, each under computed torque by the native equations. Without
control, a slender arm doubles a rounding error many times a second; control keeps it small. Differences between the
plants still show. The motions keep away from the stops. Neither plant has friction or velocity limits, because MuJoCo
smooths the jumps of the native plant, and makes implicit steps of the first order where friction is stiff.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import is_finite
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import parameters_of, standard_parameters, to_inertial
from robodyn_ros.errors import ConfigurationError, InputError, need
from robodyn_ros.robot import Link, Robot, read_document
from robodyn_ros.robot.pose import MOMENTS, Array
from robodyn_ros.settings import CheckedSettings, setting, whole
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings, unstable
from robodyn_ros.simulation.plant.joint_effects import FASTEST, FrictionSettings, StopSettings, is_stiff
from robodyn_ros.simulation.plant.native import Plant

KEPT = {"link": {"inertial", "collision"}, "joint": {"origin", "parent", "child", "axis", "limit"}}
"""Elements of the URDF that MuJoCo reads. Friction and mimicking joints have another meaning there."""

DEFAULTS = {"inertia": dict.fromkeys(MOMENTS, "0"), "axis": {"xyz": "1 0 0"}}
"""Attributes that MuJoCo requires and this package does not."""

SOLID = {"box", "capsule", "cylinder", "sphere"}
"""Shapes of collision bodies that need no mesh file."""

LEAST = {"boundmass": 1e-6, "boundinertia": 1e-9}
"""Least mass [kg] and inertia [kg m²] for the importer, which refuses less; the bodies get their own afterwards."""

STIFF = 2.0
"""Time constant of MuJoCo's stops and dry friction, in steps: as stiff as it allows."""

QUANTITIES = ("mass matrix M", "gravity g", "inverse dynamics τ", "forward dynamics q̈")

CLEAR = 0.7
"""Part of a joint's range that poses are sampled from, so that motions between them keep away from the stops."""

TURN = np.pi
"""Positions are sampled within ± this, or at most twice as far from a limit that is beyond [rad] or [m]."""

FREQUENCY = 10.0
"""Natural frequency of the position error under computed torque [rad/s], critically damped."""

PERIOD = 1e-3
"""Time between two commands of computed torque [s]."""


class MuJoCoPlant(PlantBase):
    """The arm in MuJoCo: RK4, with the same limits, viscous and Coulomb friction, and with contact.

    Where friction is too stiff for RK4 (:mod:`.joint_effects`), MuJoCo's ``implicitfast`` makes the steps.

    MuJoCo's stops and dry friction are not quite rigid: a joint creeps where it rests in the native plant.
    """

    carries = True

    def __init__(
        self,
        dynamics: Dynamics,
        settings: PlantSettings | None = None,
        effort_limit: ArrayLike | None = None,
        q0: ArrayLike | None = None,
        *,
        friction: Sequence[FrictionSettings] | None = None,
        stops: StopSettings | Sequence[StopSettings] | None = None,
        velocity_limit: ArrayLike | None = None,
        contact: bool = True,
    ) -> None:
        """
        Args:
            dynamics: the arm and its parameters.
            settings: the step of the integration; the default if None.
            effort_limit: (n,) in [N·m] or [N], inf where there is none; the URDF's if None.
            q0: initial position (n,) in [rad] or [m]; the nearest to zero within the position limits if None.
            friction: viscous and Coulomb friction of each joint; the URDF's if None.
            stops: rigid and inelastic ones only.
            velocity_limit: (n,) in [rad/s] or [m/s], inf where there is none; the URDF's if None.
            contact: True if bodies collide; those with simple shapes in ``<collision>`` do.

        Raises:
            InputError: an argument has the wrong shape or is out of range; q0 as in :meth:`reset`.
            ConfigurationError: MuJoCo is not installed or does not support a setting.
        """
        super().__init__(dynamics, settings, effort_limit, q0, velocity_limit, friction=friction, stops=stops)
        effects = self.effects
        if (effects.static_friction > effects.coulomb).any():
            raise ConfigurationError("static_friction: MuJoCo has viscous and Coulomb friction only")
        if effects.stiffness.any() or effects.restitution.any():
            raise ConfigurationError("stops: those of the mujoco plant are rigid and inelastic")
        self.arm = MuJoCoModel(dynamics, contact)
        if self.arm.mimics:
            joint = self.arm.mimics[0]
            raise ConfigurationError(f"joint {joint!r} mimics another, for which MuJoCo has no exact counterpart")
        model, mujoco = self.arm.model, self.arm.module
        model.opt.timestep = self.settings.step
        stiff = is_stiff(dynamics, effects.viscous + dynamics.parameters.viscous, self.settings.step)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST if stiff else mujoco.mjtIntegrator.mjINT_RK4
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        model.jnt_solref[:] = model.dof_solref[:] = STIFF * self.settings.step, 1.0
        self.reset()

    def step(self, count: int = 1) -> None:
        """Make steps; see :meth:`PlantBase.step`."""
        if self.dynamics.parameters is not self._seen:
            self._place(self._q, self._qd)
        model, data, index, step = self.arm.model, self.arm.data, self.arm.index, self.arm.module.mj_step
        for _ in range(count):
            effort = np.where(np.sign(self._effort) * self._qd >= self.velocity_limit, 0.0, self._effort)
            outside = self.outside.efforts(self._q, self._qd) if self.outside.active else 0.0
            data.qfrc_applied[index] = effort + outside
            step(model, data)
            q, qd = data.qpos[index], data.qvel[index]
            if not (is_finite(q) and (np.abs(qd) <= FASTEST).all()):
                self.arm.place(self._q, self._qd)
                raise unstable(self.dynamics.robot, self.settings.step, self._qd, qd, effort)
            self._keep(q, qd)
            self._steps += 1

    def _place(self, q: Array, qd: Array) -> None:
        self.arm.read_parameters(self.effects.viscous, self.effects.coulomb)
        self._seen = self.dynamics.parameters
        into = ((q <= self.effects.lower) & (qd < 0.0)) | ((q >= self.effects.upper) & (qd > 0.0))
        if into.any():  # the impulses of these stops
            inverse = np.linalg.inv(self.dynamics.mass_matrix(q))[:, into]
            qd = np.where(into, 0.0, qd - inverse @ np.linalg.solve(inverse[into], qd[into]))
        self.arm.place(q, qd)
        self._keep(q.copy(), qd)


class MuJoCoModel:
    """A MuJoCo model of an arm, with the joints in the order of the Robot's.

    Attributes:
        module: the module ``mujoco``.
        model: mjModel.
        data: mjData.
        index: index of each joint in qpos, qvel and qfrc_applied, (n,).
        mimics: names of the joints that follow another. They are joints of their own in MuJoCo; with q_all = J q + b,
            M = Jᵀ M_all J and τ = Jᵀ τ_all.
    """

    def __init__(self, dynamics: Dynamics, contact: bool = False) -> None:
        """
        Args:
            dynamics: the arm and its parameters: gravity, payload, armature, friction, inertial parameters.
            contact: True if bodies collide; those with simple shapes in ``<collision>`` do.

        Raises:
            ConfigurationError: MuJoCo is not installed, or cannot model this arm.
        """
        self.module = mujoco = need("mujoco", "MuJoCo is not installed", "mujoco")
        self._dynamics, robot = dynamics, dynamics.robot
        self.model, altered = self._compiled(robot, contact)
        self.data = mujoco.MjData(self.model)
        self.index = np.array([self.model.joint(name).dofadr[0] for name in robot.joint_names])
        self._all = np.array([self.model.joint(body.joint.name).dofadr[0] for body in robot.bodies])
        numbers = [self.model.joint(name).id for name in robot.joint_names]
        self.model.jnt_limited[numbers] = np.isfinite([robot.lower, robot.upper]).any(axis=0)  # also one point
        self._coupling, self._offset = np.zeros((len(robot.bodies), robot.n)), np.zeros(len(robot.bodies))
        for row, body in enumerate(robot.bodies):
            self._coupling[row, body.coordinate], self._offset[row] = body.ratio, body.offset
        self.mimics = mimics(robot)
        if self.mimics:  # the limits of the joints that they follow hold, not their own
            self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
        self._inertial = standard_parameters(robot).reshape(-1, 10).copy()  # as the bodies of MuJoCo have it
        self._inertial[[bool(altered.intersection(body.links)) for body in robot.bodies]] = np.nan
        self.read_parameters()

    def read_parameters(self, viscous: Array | float = 0.0, coulomb: Array | float = 0.0) -> None:
        """Use the present parameters of the dynamics.

        Args:
            viscous: friction in addition to theirs, (n,) in [N·m·s/rad] or [N·s/m].
            coulomb: likewise, (n,) in [N·m] or [N].
        """
        parameters = self._dynamics.parameters
        self.model.opt.gravity[:] = parameters.gravity
        self.model.dof_armature[self.index] = parameters.armature
        self.model.dof_damping[self.index] = parameters.viscous + viscous
        self.model.dof_frictionloss[self.index] = parameters.coulomb + coulomb
        self._set_inertias()
        self.module.mj_setConst(self.model, self.data)

    def _compiled(self, robot: Robot, contact: bool) -> tuple[Any, set[str]]:
        """Return the mjModel, and the names of the links that had to be altered for MuJoCo to accept the arm."""

        def read(massless: Container[str] = ()) -> Any:
            spec = self.module.MjSpec.from_string(reduced(robot.urdf, contact, massless))
            spec.compiler.inertiafromgeom = self.module.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
            return spec

        with suppress(ValueError):
            massless = {link.name for link in robot.links if link.inertial is not None and link.inertial.mass == 0.0}
            return read().compile(), massless  # of which MuJoCo drops the inertia
        altered = {link.name for link in robot.links if not _fits(link)}
        try:
            spec = read(altered)
            for name, value in LEAST.items():
                setattr(spec.compiler, name, value)
            return spec.compile(), altered
        except ValueError as cause:
            raise ConfigurationError(f"MuJoCo cannot take this arm: {cause}") from cause

    def _set_inertias(self) -> None:
        """Set the inertial parameters of the bodies that have others."""
        robot, parameters = self._dynamics.robot, self._dynamics.parameters
        theta, payload = parameters.inertial.reshape(-1, 10).copy(), parameters.payload
        if payload is not None:
            link = robot.link(payload.link)
            theta[link.body] += parameters_of(payload.inertial().seen_from(link.pose))
        for changed in np.flatnonzero((theta != self._inertial).any(axis=1)):
            index, inertial = self.model.body(robot.bodies[changed].name).id, to_inertial(theta[changed])
            moments, axes = np.linalg.eigh(inertial.inertia)
            axes[:, 0] *= np.linalg.det(axes)
            self.model.body_mass[index], self.model.body_ipos[index] = inertial.mass, inertial.com
            self.model.body_inertia[index] = np.maximum(moments, 0.0)
            self.module.mju_mat2Quat(self.model.body_iquat[index], axes.ravel())
        self._inertial = theta

    def place(self, q: Array, qd: Array) -> None:
        """Set the state, without efforts.

        Args:
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
        """
        self.module.mj_resetData(self.model, self.data)
        self.data.qpos[self._all], self.data.qvel[self._all] = self._coupling @ q + self._offset, self._coupling @ qd

    def mass_matrix(self, q: Array) -> Array:
        """M(q) (n, n)."""
        self.place(q, np.zeros(len(q)))
        self.module.mj_forward(self.model, self.data)
        directions, products = np.zeros((2, len(q), self.model.nv))
        directions[:, self._all] = self._coupling.T
        for product, direction in zip(products, directions, strict=True):
            self.module.mj_mulM(self.model, self.data, product, direction)
        return np.asarray(self._coupling.T @ products[:, self._all].T)

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Efforts τ (n,) in [N·m] or [N], friction included."""
        self.place(q, qd)
        self.data.qacc[self._all] = self._coupling @ qdd
        self.module.mj_inverse(self.model, self.data)
        return self._coupling.T @ self.data.qfrc_inverse[self._all]

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        """Accelerations q̈ (n,) in [rad/s²] or [m/s²]."""
        if self.mimics:  # MuJoCo itself has no mimic joints
            return np.asarray(np.linalg.solve(self.mass_matrix(q), tau - self.inverse(q, qd, np.zeros(len(q)))))
        self.place(q, qd)
        self.data.qfrc_applied[self.index] = tau
        self.module.mj_forward(self.model, self.data)
        return self.data.qacc[self.index]


def reduced(urdf: str, contact: bool, massless: Container[str] = ()) -> str:
    """Return a URDF with links and joints only, simple collision shapes if ``contact``, and some links ``massless``."""
    root = read_document(urdf).root
    for element in list(root):
        if element.tag not in KEPT:
            root.remove(element)
        for child in list(element):
            shapes = {shape.tag for shape in child.findall("geometry/*")}
            solid = child.tag != "collision" or (contact and shapes <= SOLID)
            heavy = child.tag != "inertial" or element.get("name") not in massless
            if child.tag not in KEPT.get(element.tag, ()) or not (solid and heavy):
                element.remove(child)
    for tag, given in DEFAULTS.items():
        for element in root.iter(tag):
            element.attrib = given | element.attrib
    return ET.tostring(root, encoding="unicode")


def _fits(link: Link) -> bool:
    """True if the importer accepts a link's inertial without a change."""
    inertial = link.inertial
    if inertial is None:
        return False
    moments = np.linalg.eigvalsh(inertial.inertia)
    enough = inertial.mass > LEAST["boundmass"] and moments[0] > LEAST["boundinertia"]
    return bool(enough and moments[0] + moments[1] >= moments[2])


@dataclass(frozen=True)
class ValidationSettings(CheckedSettings):
    """Settings of the comparison; each field's metadata describe it."""

    states: int = whole(100, "number of random states", 1, 100_000)
    motions: int = whole(3, "number of random motions", 0, 1000)
    duration: float = setting(2.0, "length of a motion", "s", 0.01, 60.0)
    step: float = setting(1e-4, "step of both plants", "s", 1e-6, PERIOD)
    tolerance: float = setting(1e-8, "greatest relative error of M, g, τ and q̈", "-", 0.0, 1.0)
    motion_tolerance: float = setting(1e-8, "greatest error of a joint's position", "rad or m", 0.0, 1.0)
    seed: int = whole(0, "seed of the random numbers", 0, 2**31 - 1)


class Comparison(NamedTuple):
    """The difference of one quantity between the two."""

    quantity: str
    error: float  # relative to the greatest norm of the quantity; for a motion, that of a joint's position [rad] or [m]
    allowed: float

    @property
    def agrees(self) -> bool:
        """True if the error is within the allowed error."""
        return self.error <= self.allowed


def validate(
    dynamics: Dynamics, settings: ValidationSettings | None = None, progress: Callable[[], object] = lambda: None
) -> list[Comparison]:
    """Compare an arm's dynamics with MuJoCo's.

    Args:
        dynamics: the arm.
        settings: settings of the comparison; the defaults if None.
        progress: called after each state and each motion.

    Returns:
        The comparisons; without motions where a joint mimics another.

    Raises:
        ConfigurationError: MuJoCo is not installed, or cannot model this arm.
        InputError: the step does not divide the period of the commands.
        SimulationError: a state became too large for a float.
    """
    settings = settings or ValidationSettings()
    rng = np.random.default_rng(settings.seed)
    found = _equations(dynamics, settings, rng, progress)
    for number in range(1, 0 if mimics(dynamics.robot) else settings.motions + 1):
        error = _motion(dynamics, settings, rng)
        found.append(Comparison(f"motion {number}, {settings.duration:g} s", error, settings.motion_tolerance))
        progress()
    return found


def mimics(robot: Robot) -> list[str]:
    """Names of the joints that follow another."""
    return [body.joint.name for body in robot.bodies if body.joint.mimic is not None]


def _equations(
    dynamics: Dynamics, settings: ValidationSettings, rng: np.random.Generator, progress: Callable[[], object]
) -> list[Comparison]:
    arm, n = MuJoCoModel(dynamics), dynamics.robot.n
    none = np.zeros(n)
    errors, sizes = np.zeros((2, len(QUANTITIES), settings.states))
    for state in range(settings.states):
        q, qd, qdd = _pose(dynamics.robot, rng), rng.normal(size=n), rng.normal(size=n)
        tau = dynamics.inverse(q, qd, qdd)
        pairs = (
            (dynamics.mass_matrix(q), arm.mass_matrix(q)),
            (dynamics.gravity(q), arm.inverse(q, none, none)),
            (tau, arm.inverse(q, qd, qdd)),
            (dynamics.forward(q, qd, tau), arm.forward(q, qd, tau)),
        )
        errors[:, state] = [np.linalg.norm(ours - theirs) for ours, theirs in pairs]
        sizes[:, state] = [np.linalg.norm(ours) for ours, _ in pairs]
        progress()
    scale = np.where(sizes.max(axis=1) > 0.0, sizes.max(axis=1), 1.0)
    relative = np.nan_to_num(errors, nan=np.inf).max(axis=1) / scale
    found = zip(QUANTITIES, relative.tolist(), strict=True)
    return [Comparison(name, error, settings.tolerance) for name, error in found]


def _motion(dynamics: Dynamics, settings: ValidationSettings, rng: np.random.Generator) -> float:
    """The greatest difference of a joint's position in one motion [rad] or [m]."""
    robot = dynamics.robot
    every = round(PERIOD / settings.step)
    step = settings.step
    if abs(every * step - PERIOD) > 1e-9:
        raise InputError("step", f"must go into {PERIOD:g} s a whole number of times, not {step:g} s", step)
    poses = [_pose(robot, rng) for _ in range(3)]
    path = rest_to_rest(poses, np.array([0.0, 0.5, 1.0]) * settings.duration)
    free, none = np.full(robot.n, np.inf), (FrictionSettings(),) * robot.n
    given = dynamics, PlantSettings(step), free, poses[0]
    native = Plant(*given, friction=none, velocity_limit=free)
    mujoco = MuJoCoPlant(*given, friction=none, velocity_limit=free, contact=False)
    plants: tuple[PlantBase, ...] = (native, mujoco)
    apart = 0.0
    for index in range(round(settings.duration / PERIOD)):
        q, qd, qdd = path.sample(index * PERIOD)
        for plant in plants:  # each by its own state: under a record of efforts, rounding errors can grow without bound
            wanted = qdd + 2.0 * FREQUENCY * (qd - plant.qd) + FREQUENCY**2 * (q - plant.q)
            plant.apply(dynamics.inverse(plant.q, plant.qd, wanted))
            plant.step(every)
        apart = max(apart, float(np.abs(native.q - mujoco.q).max()))
    return apart


def _pose(robot: Robot, rng: np.random.Generator) -> Array:
    lower = np.maximum(robot.lower, np.minimum(-TURN, robot.upper - 2.0 * TURN))
    upper = np.minimum(robot.upper, np.maximum(TURN, robot.lower + 2.0 * TURN))
    margin = 0.5 * (1.0 - CLEAR) * (upper - lower)
    return rng.uniform(lower + margin, upper - margin)
