"""The arm in MuJoCo: a second opinion, and contact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import is_finite
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError, SimulationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.base import PlantBase, PlantConfig
from robodyn_ros.simulation.friction import FrictionConfig
from robodyn_ros.simulation.mujoco_model import MuJoCoModel
from robodyn_ros.simulation.stops import StopConfig

STIFF = 2.0
"""Time constant of MuJoCo's stops and dry friction, in steps: as stiff as it allows."""


class MuJoCoPlant(PlantBase):
    """The same URDF in MuJoCo: a second opinion, and contact.

    RK4, with the same limits, viscous and Coulomb friction. MuJoCo's stops and dry friction give way a little: a joint
    creeps where the native plant stands.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        config: PlantConfig | None = None,
        effort_limit: ArrayLike | None = None,
        q0: ArrayLike | None = None,
        *,
        friction: Sequence[FrictionConfig] | None = None,
        stops: StopConfig | Sequence[StopConfig] | None = None,
        velocity_limit: ArrayLike | None = None,
        contact: bool = True,
    ) -> None:
        """
        Args:
            dynamics: the arm and its parameters.
            config: settings, the defaults unless given.
            effort_limit: (n,) in [N·m] or [N], the URDF's unless given; inf where there is none.
            q0: where it starts, (n,) in [rad] or [m]; as near to zero as the position limits allow unless given.
            friction: of each joint, the URDF's unless given; MuJoCo has viscous and Coulomb friction.
            stops: rigid and inelastic, as far as MuJoCo's can be.
            velocity_limit: (n,) in [rad/s] or [m/s], the URDF's unless given; inf where there is none.
            contact: whether bodies collide, as far as ``<collision>`` gives them simple shapes.

        Raises:
            InputError: an argument of the wrong shape or out of range; q0 as in :meth:`reset`.
            ConfigurationError: MuJoCo is not installed or has not what is asked for.
        """
        super().__init__(dynamics, config, effort_limit, q0, velocity_limit, friction=friction, stops=stops)
        losses, limits, _ = self._joints
        if (losses.static > losses.coulomb).any():
            raise ConfigurationError("static_friction: MuJoCo has viscous and Coulomb friction only")
        if not limits.rigid.all() or limits.restitution.any():
            raise ConfigurationError("stops: those of the mujoco plant are rigid and inelastic")
        self.arm = MuJoCoModel(dynamics, contact)
        model, mujoco = self.arm.model, self.arm.module
        model.dof_damping[self.arm.index] += losses.viscous
        model.dof_frictionloss[self.arm.index] += losses.coulomb
        model.opt.timestep = self.config.step
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        if not contact:
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        for reference in (model.jnt_solref, model.dof_solref):
            reference[:] = STIFF * self.config.step, 1.0
        self.reset()

    def step(self, count: int = 1) -> None:
        """See :class:`PlantBase`."""
        model, data, index, step = self.arm.model, self.arm.data, self.arm.index, self.arm.module.mj_step
        limited = bool(np.isfinite(self.velocity_limit).any() and self._effort.any())
        at_once = 1 if limited else count  # the drives are looked at before every step
        for _ in range(0, count, max(at_once, 1)):
            effort = self._effort
            if limited:
                over = np.sign(effort) * self._qd >= self.velocity_limit
                effort = np.where(over, 0.0, effort)
            data.qfrc_applied[index] = effort
            step(model, data, at_once)
            q, qd = data.qpos[index], data.qvel[index]
            if not (is_finite(q) and is_finite(qd)):
                self.arm.place(self._q, self._qd)
                raise SimulationError(self._beyond())
            self._keep(q, qd)
            self._steps += at_once

    def _place(self, q: Array, qd: Array) -> None:
        self.arm.place(q, qd)
        self._keep(q.copy(), qd)
