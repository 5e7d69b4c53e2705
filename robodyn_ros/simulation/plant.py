"""The native plant: the arm's own equations of motion, with friction, stops, limits, and any integrator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import SimulationError
from robodyn_ros.plugins import create
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.base import PlantBase, PlantConfig
from robodyn_ros.simulation.friction import FrictionConfig
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.runner import Runner
from robodyn_ros.simulation.stops import StopConfig

__all__ = ["Plant", "PlantConfig"]


class Plant(PlantBase):
    """The arm's own equations, with friction, stops and limits.

    Everything is deterministic; time is a count of steps.
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
        integrator: str | Integrator = "rk4",
    ) -> None:
        """
        Args:
            dynamics: the equations of motion; called here, so that what they compile on first use is ready.
            config: settings, the defaults unless given.
            effort_limit: (n,) in [N·m] or [N], the URDF's unless given; inf where there is none.
            q0: where it starts, (n,) in [rad] or [m]; as near to zero as the position limits allow unless given.
            friction: of each joint, the URDF's unless given.
            stops: of every joint, or of each; rigid and inelastic unless given.
            velocity_limit: (n,) in [rad/s] or [m/s], the URDF's unless given; inf where there is none.
            integrator: the plugin's name, or an integrator.

        Raises:
            InputError: an argument of the wrong shape or out of range; q0 as in :meth:`reset`.
            PluginError: no such integrator.
        """
        super().__init__(dynamics, config, effort_limit, q0, velocity_limit, friction=friction, stops=stops)
        rule = create("integrators", integrator) if isinstance(integrator, str) else integrator
        self._runner = Runner(dynamics, self._joints, rule, self.config.step)
        self.reset()
        rest = np.zeros(dynamics.robot.n)
        dynamics.forward(rest, rest, dynamics.inverse(rest, rest, dynamics.mass_matrix(rest) @ rest))

    def step(self, count: int = 1) -> None:
        """See :class:`PlantBase`."""
        made = self._runner.run(self._effort, count)
        if made:
            self._keep(*self._runner.state())
            self._steps += made
        if made < count:
            failure = self._runner.failure
            if isinstance(failure, SimulationError):
                raise failure
            raise SimulationError(self._beyond()) from failure

    def _place(self, q: Array, qd: Array) -> None:
        self._keep(*self._runner.place(q, qd))
