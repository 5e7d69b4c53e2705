# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The momentum observer: external efforts on the joints, and the wrench at the tool that is equivalent to them.

    r = K (p - p₀ - ∫ (τ + C(q, q̇)ᵀ q̇ - g(q) - τ_friction(q̇) + r) dt),   p = M(q) q̇,   so that   ṙ = K (τ_ext - r)

r follows the external efforts, τ_ext = Jᵀ F, as a first-order filter with the time constant 1/K. It needs neither
accelerations nor M⁻¹. It works with every control law, and during reactions to faults.

**The wrench.** F = J̄ᵀ r, with the dynamically consistent inverse J̄ of the link's Jacobian, is the wrench at the origin
of the link that causes r, in the root link's axes. It is exact for a single wrench at that link in the directions that
the arm has; with fewer than six directions, the other components are 0. A push on another link appears as a different
wrench. Near a singularity J̄ is damped (:mod:`robodyn_ros.dynamics.task_space`).

**The energy.** E = ½ m v², with v the velocity of the link's origin and m = 1 / (uᵀ J_v M⁻¹ J_vᵀ u) the effective mass
in its direction u. A person in the path can receive this energy in a free and hard impact.

**Limitations.** Errors of the model appear as external efforts: a payload that is not in the model, errors of masses
and friction. Their bias in a pose can be subtracted (``tare``). At a standstill Coulomb friction balances the load,
with any value up to its limit. Velocity noise σ, independent from state to state, causes a noise of K M σ in r, and
less if the gain is not small compared with the rate of the states; a delay d of the commands causes an error of d τ̇.

Source: De Luca, Albu-Schäffer, Haddadin, Hirzinger, Collision detection and safe reaction with the DLR-III lightweight
manipulator arm, IROS 2006, eq. 12 to 16; Haddadin, De Luca, Albu-Schäffer, Robot collisions: a survey on detection,
isolation, and identification, IEEE Trans. Robotics 33(6) (2017), section IV.E, V.B and V.C; the effective mass: Khatib,
Inertial properties in robotic manipulation: an object-level framework, Int. J. Robotics Research 14(1) (1995), eq. 14.

**A force-torque sensor** may take the place of the observer; the weight that it carries is compensated, inertial forces
are not:

    f_ext = f - m Rᵀ g - f₀,   τ_ext = τ - r_com × m Rᵀ g - τ₀

R is the rotation of the sensor's frame, g the gravity vector, m and r_com the mass and the centre of mass of the parts
that the sensor carries, f₀ and τ₀ the bias.

Source: Siciliano, Khatib (ed.), Springer Handbook of Robotics (2016), section 28.4 (wrist force-torque sensors).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.laws.base import SMOOTHING, FrictionCompensation
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.dynamics.task_space import TaskSpace
from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.tracing import Trace, column, solve_positive, traced
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.robot.pose import Array

TINY = 1e-300  #: Keeps a division by a speed defined at a standstill.


class ObserverMemory(NamedTuple):
    """Memory of the observer from period to period, (n,) each."""

    residual: Array  # r [N·m] or [N]
    momentum: Array  # p = M q̇
    drift: Array  # Cᵀ q̇ - g - τ_friction


class ExternalEfforts(NamedTuple):
    """Estimates of the external efforts on the arm."""

    efforts: Array  # on the joints, (n,) in [N·m] or [N]
    wrench: Array  # at the link's origin, force [N] and torque [N·m] in the root link's axes, (6,)
    energy: Any  # kinetic energy of the effective mass at the link [J]
    mass: Any  # the effective mass in the direction of motion [kg]; 0 at a standstill


def momentum_residual(
    residual: Array, dt: Any, gained: Array, before: Array, now: Array, efforts: Array, gain: Any
) -> Array:
    """The residual r (n,) after a period dt [s], by the trapezoidal rule, implicit in r and so stable with every gain K
    [1/s]. ``gained`` is the change of p, ``before`` and ``now`` the terms of ṗ besides the efforts at both ends, (n,).
    """
    explained = dt * (efforts + (before + now) / 2.0)
    return (residual + gain * (gained - explained)) / (1.0 + gain * np.maximum(dt, 0.0))


_NUMBERS = ("memory", "bias", "found")  #: Arrays that an observer changes from state to state.


class MomentumObserver:
    """The observer of one arm, step by step. Like a kernel, an object of this class belongs to one thread.

    Attributes:
        memory: of the observer, (3 n,).
        bias: subtracted from the external efforts, (n,); may be written.
        found: latest estimates, (n + 8,): efforts, wrench, energy and mass.
        program, parameters: the program that is compiled, None if it cannot be, and its runtime parameters.
    """

    def __init__(
        self, dynamics: Dynamics, link: str = "", gain: float = 30.0, *, tool: bool = True, friction: bool = True
    ) -> None:
        """
        Args:
            dynamics: the arm's model.
            link: at whose origin the wrench acts; the last moving link if empty.
            gain: K, the inverse of the time constant [1/s].
            tool: False for the efforts on the joints alone, without wrench and energy.
            friction: True to subtract the friction of the model.

        Raises:
            InputError: no such link, or no joint moves it.
        """
        n = dynamics.robot.n
        self._dynamics, self._gain = dynamics, gain
        self._task = TaskSpace(dynamics, link) if tool else None
        self._friction, self._knows_friction = FrictionCompensation(dynamics), friction
        self.memory, self.bias, self.found = np.zeros(3 * n), np.zeros(n), np.zeros(n + 8)
        self.parameters = self._present_parameters()
        can_be_compiled = isinstance(dynamics, CompiledDynamics) and not dynamics.replaced()
        self.program = self._program() if can_be_compiled else None
        self._kernel = None if self.program is None else Kernel(self.program, self.parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is made anew, because the kernel owns memory, and goes on with the same numbers."""
        made = partial(type(self), tool=self._task is not None, friction=self._knows_friction)
        return made, (self._dynamics, self.link, self._gain), {name: getattr(self, name).copy() for name in _NUMBERS}

    def go_on_from(self, other: MomentumObserver) -> None:
        """Take over the numbers of an observer of the same joints, such as one with another model or gain."""
        for name in _NUMBERS:
            getattr(self, name)[:] = getattr(other, name)

    def _numbers(self) -> Array:
        friction, task = self._friction, self._task
        known = np.concatenate((friction.viscous, friction.coulomb)) * self._knows_friction
        return np.concatenate(([self._gain], known, *([] if task is None else task.scales)))

    def _present_parameters(self) -> Array:
        dynamics = self._dynamics
        self._seen = dynamics.parameters
        model = dynamics.symbols if isinstance(dynamics, CompiledDynamics) else np.zeros(0)
        return np.concatenate((self._numbers(), model))

    @property
    def efforts(self) -> Array:
        """The latest estimate of the external efforts on the joints, (n,) in [N·m] or [N]."""
        return self.found[:-8]

    @property
    def wrench(self) -> Array:
        """The external wrench at the link, in the root link's axes, (6,) in [N] and [N·m]."""
        return self.found[-8:-2]

    @property
    def link(self) -> str:
        """Name of the link at whose origin the wrench acts; "" without wrench."""
        return "" if self._task is None else self._task.link

    def read_parameters(self) -> None:
        """Use the present parameters of the model."""
        self.parameters[:] = self._present_parameters()

    def reset(self) -> None:
        """Begin anew with the next state; the bias is kept."""
        self.memory[:] = self.found[:] = 0.0

    def tare(self, efforts: Array) -> None:
        """Zero the estimate: add observed efforts (n,) to the bias."""
        self.bias += efforts
        self.efforts[:] -= efforts  # so that once more, before the next state, adds nothing

    def update(self, dt: float, q: Array, qd: Array, efforts: Array) -> Array:
        """The estimates after a period, :attr:`found`; raises whatever the model raises.

        Args:
            dt: time since the state before [s]; 0 or less if there was none, or if its efforts are unknown.
            q, qd: positions (n,) in [rad] or [m], and velocities per [s].
            efforts: of the drives since then, (n,) in [N·m] or [N].
        """
        if self._dynamics.parameters is not self._seen:
            self.read_parameters()
        n, kernel = len(q), self._kernel
        if kernel is None:
            before = ObserverMemory(*self.memory.reshape(3, n))
            found, after = self.observe(dt, q, qd, efforts, self.bias, before, self._numbers())
            self.memory[:] = np.concatenate(after)
            self.found[:] = np.concatenate((found.efforts, found.wrench, [found.energy, found.mass]))
            return self.found
        given: tuple[Any, ...] = (dt, q, qd, efforts, self.bias, self.memory)
        for slot, value in zip(kernel.inputs, given, strict=True):
            slot[:] = value
        kernel.evaluate()
        self.memory[:], self.found[:] = kernel.results[0], kernel.results[1]
        return self.found

    def observe(
        self, dt: Any, q: Array, qd: Array, efforts: Array, bias: Array, memory: ObserverMemory, numbers: Array
    ) -> tuple[ExternalEfforts, ObserverMemory]:
        """The equations of :meth:`update`, with numbers or traced; a period of 0 or less resets the observation.

        In addition to its arguments: the bias (n,) that is subtracted, the memory after the period before, and the
        numbers that may change at run time: gain, friction, and the scales of the task.
        """
        n = len(q)
        mass, gravity = self._dynamics.mass_matrix(q), self._dynamics.gravity(q)
        momentum = mass @ qd
        friction = numbers[1 : n + 1] * qd + numbers[n + 1 : 2 * n + 1] * np.tanh(qd / SMOOTHING)
        drift = self._dynamics.coriolis_matrix(q, qd).T @ qd - gravity - friction
        period = np.maximum(dt, 0.0)
        observed = momentum_residual(
            memory.residual, period, momentum - memory.momentum, memory.drift, drift, efforts, numbers[0]
        )
        residual = np.where(dt > 0.0, observed, 0.0)
        external = residual - bias
        found = ExternalEfforts(external, np.zeros(6), 0.0, 0.0)
        if self._task is not None:
            task = self._task.scaled(numbers[2 * n + 1 :])
            jacobian = task.full_jacobian(q)
            wrench = task.axes.T @ (task.consistent_inverse(q, mass).T @ external)
            linear = jacobian[:3]
            velocity = linear @ qd
            squared = velocity @ velocity
            mobility = velocity @ (linear @ solve_positive(mass, linear.T @ velocity))
            effective = squared / (mobility + TINY)
            found = ExternalEfforts(external, wrench, effective * squared / 2.0, effective)
        return found, ObserverMemory(residual, momentum, drift)

    def _program(self) -> Program:
        """:meth:`observe` as a program: from the period, q, q̇, the efforts, the bias and the memory to the memory and
        the estimates, as one array (n + 8,); its parameters are the numbers and those of the model.
        """
        dynamics = self._dynamics
        assert isinstance(dynamics, CompiledDynamics)
        n, count = dynamics.robot.n, len(self._numbers())
        inputs = (("dt", 1), *((name, n) for name in ("q", "qd", "efforts", "bias")), ("memory", 3 * n))
        place = None  # of the link on its body, and the directions that it has
        if self._task is not None:
            link = dynamics.robot.link(self._task.link)
            place = link.body, from_pose(link.pose).tolist(), self._task.axes.tolist()

        def results(*given: ca.SX) -> list[ca.SX]:
            dt, q, qd, efforts, bias, memory, parameters = (traced(each)[:, 0] for each in given)
            trace = Trace()
            trace.name(dynamics.symbols, parameters[count:])
            parts = ObserverMemory(memory[:n], memory[n : 2 * n], memory[2 * n :])
            with trace.running():
                found, after = self.observe(dt[0], q, qd, efforts, bias, parts, parameters[:count])
            return [column(after), column(found)]

        key = digest(dynamics.key, type(dynamics).__qualname__, place, source=__name__)
        return Program.of("contact", key, inputs, count + len(dynamics.symbols), ((3 * n,), (n + 8,)), results)


class ForceTorqueSensor:
    """The compensation of one sensor; ``bias``, force [N] and torque [N·m] in its axes (6,), is subtracted."""

    def __init__(self, mass: float = 0.0, com: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Mass of the parts on the sensor [kg], and their centre of mass in the sensor's frame, (3,) in [m]."""
        self._mass, self._com = mass, finite_array("com", com, (3,))
        self.bias = np.zeros(6)
        self._raw = np.zeros(6)

    def external(self, measured: ArrayLike, rotation: Array, gravity: Array) -> Array:
        """The external wrench about the sensor's origin, in its axes, force [N] and torque [N·m], (6,), by the measured
        one (6,), the rotation of the sensor's frame in the root link's (3, 3), and gravity there, (3,) in [m/s²].
        """
        weight = self._mass * (rotation.T @ gravity)
        self._raw = finite_array("wrench", measured, (6,)) - np.concatenate((weight, np.cross(self._com, weight)))
        return self._raw - self.bias

    def tare(self) -> None:
        """Zero the estimate: the latest wrench becomes the bias."""
        self.bias = self._raw.copy()


def wrench_at(pose: Array, wrench: Array) -> Array:
    """A wrench (6,) about a frame's origin, in its axes, as seen in a frame in which that one has a pose (4, 4)."""
    turned = pose[:3, :3] @ wrench[:3]
    return np.concatenate((turned, pose[:3, :3] @ wrench[3:] + np.cross(pose[:3, 3], turned)))
