# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The hardware as a controller sees it: an arm with its drives and sensors.

The data go through it in this order, with time as a count of the plant's steps:

    command   a command arrives                                 :meth:`Hardware.command`
    actuators check, clamp and delay it; drives follow it, and add their own terms   :mod:`.actuators`
    brakes    hold the arm until the first command              :meth:`Hardware.advance`
    plant     the effort moves the arm, step by step            :mod:`robodyn_ros.simulation.plant.base`
    encoders  measure positions and velocities                  :mod:`.sensors`
    transport delays, drops and repeats readings                :mod:`.sensors`
    reading   a reading arrives                                 :meth:`Hardware.readings`

Everything is deterministic: the same commands at the same steps give the same readings, to the last bit, after every
reset too. Brakes are rigid: a moving arm stops at once.

``held_or_driven`` in ``../trial/trial.c`` has the brakes and the command timeout in C;
``test_simulation_sweep_trial.py`` compares them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import SimulationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.hardware.actuators import Actuators, CommandSettings, DriveModel
from robodyn_ros.simulation.hardware.sensors import SensorReading, Sensors
from robodyn_ros.simulation.plant.base import PlantBase


class Hardware:
    """An arm with its drives and sensors.

    Attributes:
        plant: the arm; its own time stands still while brakes hold it.
        sensors: its sensors and their transport.
        now: time since the last reset [steps].
        held: True while brakes hold the arm.
        silent: True after the command timeout, until the next command.
        failures: number of failed steps since the start; such a step would lead beyond the range of a simulation.
        failure: error of the step that has failed; the arm then stays where it is until a reset. None without one.
    """

    def __init__(
        self,
        plant: PlantBase,
        actuators: Actuators,
        sensors: Sensors,
        settings: CommandSettings,
        model: DriveModel | None = None,
    ) -> None:
        """
        Args:
            plant: the arm in its initial state.
            actuators: its drives.
            sensors: its sensors.
            settings: settings of the commands.
            model: the efforts that the drives add; none by default.
        """
        self.plant = plant
        self.sensors = sensors
        self.failures = 0
        self.failure: SimulationError | None
        self._actuators = actuators
        self._settings, self._model = settings, model
        self._timeout = max(1, round(settings.command_timeout / plant.settings.step))
        self.reset()

    @property
    def time(self) -> float:
        """Time since the last reset [s]."""
        return self.now * self.plant.settings.step

    @property
    def effort(self) -> Array:
        """The mean effort over the last step, (n,) in [N·m] or [N]."""
        return self.plant.effort

    def reset(self) -> None:
        """Go back to the initial state at time 0, and make the first reading."""
        self.plant.reset()
        self._acting: Array | None = None
        self._actuators.reset()
        self.sensors.reset()
        self.now = 0
        self.held, self.silent = self._settings.brake, False
        self.failure = None
        self._commanded: int | None = None
        self._measure()

    def command(self, effort: ArrayLike) -> None:
        """Accept a command that arrives now; the brakes open when it reaches the drives.

        Args:
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: as :meth:`.Actuators.checked`; then nothing has changed.
        """
        self._actuators.command(self.now, self._actuators.checked(effort))
        self._commanded, self.silent = self.now, False

    def readings(self) -> list[SensorReading]:
        """Return the readings that have arrived by now; each is returned once."""
        return self.sensors.transport.arrived(self.now)

    def advance(self, steps: int) -> None:
        """Advance by a number of the plant's steps."""
        end, period = self.now + steps, self.sensors.steps
        while self.now < end:
            until = min(end, (self.now // period + 1) * period)
            if self._commanded is not None and not self.silent:
                if self.now - self._commanded >= self._timeout:
                    self._time_out()
                else:
                    until = min(until, self._commanded + self._timeout)
            self.now += self._move(until - self.now)
            if self.now % period == 0:
                self._measure()

    def _move(self, most: int) -> int:
        """Move the plant by as many steps as one call can make, up to a number; return the number made."""
        if self.failure is not None:
            return most
        if self.held:
            wait = self._actuators.wait(self.now)
            if wait:
                return min(most, wait)
            self.held = False
        effort = steady = self._actuators.steady(self.now)
        if effort is None:
            effort = self._actuators.advance(self.now)
        if self._model is not None:  # the added efforts change with the state, step by step
            effort, steady = effort + self._model.effort(self.plant.q, self.plant.qd), None
        if effort is not self._acting:  # the plant checks each effort, which takes time
            self.plant.apply(effort)
            self._acting = effort
        steps = 1 if steady is None else most
        begun = self.plant.time
        try:
            self.plant.step(steps)
        except SimulationError as problem:
            step = self.plant.settings.step
            self.failures += 1
            self.failure = SimulationError(f"at {self.time + self.plant.time - begun + step:.9g} s: {problem}")
        return steps

    def _time_out(self) -> None:
        """Respond to missing commands."""
        self.silent = True
        if self._settings.on_command_timeout == "hold":
            return
        self._actuators.release(self.now)
        if self._settings.on_command_timeout == "brake":
            self.held = True
            self._actuators.reset()
            self.plant.halt()
            self._acting = np.zeros(len(self.plant.q))
            self.plant.apply(self._acting)

    def _measure(self) -> None:
        """Make a reading, and send it."""
        plant = self.plant
        q, qd = self.sensors.encoders.read(plant.q, plant.qd)
        self.sensors.transport.send(SensorReading(self.now, q, qd, plant.effort))
