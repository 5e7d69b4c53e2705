# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The native plant: the arm's own equations of motion with friction, stops, limits and any integrator.

:class:`.mechanism.Mechanism` makes its steps, in C; a step in which a joint reaches a stop or comes to rest is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import SimulationError
from robodyn_ros.plugins import create
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings, unstable
from robodyn_ros.simulation.plant.external_forces import Contact
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, StopSettings
from robodyn_ros.simulation.plant.mechanism import Mechanism


class Plant(PlantBase):
    """The arm's own equations of motion, with friction, stops and limits."""

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
        integrator: str | Integrator = "rk4",
        contacts: Sequence[Contact] = (),
    ) -> None:
        """
        Args:
            dynamics: the equations of motion; the constructor calls them once, so that they are compiled then.
            settings: the step of the integration; the default if None.
            effort_limit: (n,) in [N·m] or [N], inf where there is none; the URDF's if None.
            q0: initial position (n,) in [rad] or [m]; the nearest to zero within the position limits if None.
            friction: the friction of each joint; the URDF's if None.
            stops: one for every joint, or one for each; rigid and inelastic if None.
            velocity_limit: (n,) in [rad/s] or [m/s], inf where there is none; the URDF's if None.
            integrator: an integrator, or the name of its plugin.
            contacts: walls and springs that the arm may touch.

        Raises:
            InputError: an argument has the wrong shape or is out of range; q0 as in :meth:`reset`.
            PluginError: there is no such integrator.
        """
        super().__init__(
            dynamics, settings, effort_limit, q0, velocity_limit, friction=friction, stops=stops, contacts=contacts
        )
        rule = create("integrators", integrator) if isinstance(integrator, str) else integrator
        self._mechanism = Mechanism(dynamics, self._joints, rule, self.settings.step, self.outside)
        self.reset()
        rest = np.zeros(dynamics.robot.n)
        dynamics.forward(rest, rest, dynamics.inverse(rest, rest, dynamics.mass_matrix(rest) @ rest))

    def step(self, count: int = 1) -> None:
        """Make steps; see :meth:`PlantBase.step`."""
        made = self._mechanism.run(self._effort, count)
        if made:
            self._keep(*self._mechanism.state())
            self._steps += made
        if made < count:
            failure = self._mechanism.failure
            if isinstance(failure, SimulationError):
                raise failure
            beyond = self._mechanism.beyond
            raise unstable(self.dynamics.robot, self.settings.step, self._qd, beyond, self._effort) from failure

    def _place(self, q: Array, qd: Array) -> None:
        self._keep(*self._mechanism.place(q, qd))
