"""The hardware: an arm with its drives and its sensors, as a controller meets it.

Commands go in when they arrive, readings come out when they arrive, and time is a count of the plant's steps.
Everything is deterministic: the same commands at the same steps give the same readings, to the last bit, after every
reset too.

A brake holds all joints where they are. It is rigid: a moving arm stops at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import SimulationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.hardware.actuators import Actuators, CommandSettings
from robodyn_ros.simulation.hardware.sensors import SensorReading, Sensors
from robodyn_ros.simulation.plant.base import PlantBase


class Hardware:
    """The hardware: an arm with its drives and its sensors, as a controller meets it.

    Commands go in when they arrive, readings come out when they arrive, and time is a count of the plant's steps.
    Everything is deterministic: the same commands at the same steps give the same readings, to the last bit, after
    every reset too.

    A brake holds all joints where they are. It is rigid: a moving arm stops at once.

    Attributes:
        plant: the arm; its own time stands still while brakes hold it.
        sensors: what reads its state.
        now: time since the last reset [steps].
        held: whether brakes hold the arm.
        silent: whether commands have come, and come no more.
        failures: how many steps could not be taken since the start, for their result would not have been finite.
        failure: why, of the last one.
    """

    def __init__(self, plant: PlantBase, actuators: Actuators, sensors: Sensors, settings: CommandSettings) -> None:
        """
        Args:
            plant: the arm, from where it starts.
            actuators: what moves it.
            sensors: what reads its state.
            settings: how commands reach it.
        """
        self.plant = plant
        self.sensors = sensors
        self.failures = 0
        self.failure: SimulationError | None = None
        self._actuators = actuators
        self._settings = settings
        self._timeout = max(1, round(settings.command_timeout / plant.settings.step))
        self.reset()

    @property
    def time(self) -> float:
        """Time since the last reset [s]."""
        return self.now * self.plant.settings.step

    @property
    def effort(self) -> Array:
        """The effort that acts, (n,) in [N·m] or [N]; the mean over the last step."""
        return self.plant.effort

    def reset(self) -> None:
        """Back to the start, at time 0; the first reading is made then."""
        self.plant.reset()
        self._acting: Array | None = None
        self._actuators.reset()
        self.sensors.reset()
        self.now = 0
        self.held, self.silent = self._settings.brake, False
        self._commanded: int | None = None
        self._read()

    def command(self, effort: ArrayLike) -> None:
        """A command arrives now; when it reaches the drives, they release the brakes.

        Args:
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: see :meth:`Actuators.checked`; nothing has changed then.
        """
        self._actuators.command(self.now, self._actuators.checked(effort))
        self._commanded, self.silent = self.now, False

    def readings(self) -> list[SensorReading]:
        """What has come from the sensors by now; each is given out once."""
        return self.sensors.transport.arrived(self.now)

    def advance(self, steps: int) -> None:
        """Go on by some steps of the plant."""
        end, period = self.now + steps, self.sensors.steps
        while self.now < end:
            until = min(end, (self.now // period + 1) * period)
            if self._commanded is not None and not self.silent:
                if self.now - self._commanded >= self._timeout:
                    self._fall_silent()
                else:
                    until = min(until, self._commanded + self._timeout)
            self.now += self._move(until - self.now)
            if self.now % period == 0:
                self._read()

    def _move(self, most: int) -> int:
        """Move the plant by some steps, as many as can be taken together but at most so many; how many."""
        if self.held:
            wait = self._actuators.wait(self.now)
            if wait:
                return min(most, wait)
            self.held = False
        effort = steady = self._actuators.steady(self.now)
        if effort is None:
            effort = self._actuators.advance(self.now)
        if effort is not self._acting:  # the plant looks at what it is given, which takes time
            self.plant.apply(effort)
            self._acting = effort
        steps = 1 if steady is None else most
        try:
            self.plant.step(steps)
        except SimulationError as problem:
            self.failures += 1
            self.failure = problem
        return steps

    def _fall_silent(self) -> None:
        """No command has come for too long."""
        self.silent = True
        if self._settings.on_command_timeout == "hold":
            return
        self._actuators.let_go(self.now)
        if self._settings.on_command_timeout == "brake":
            self.held = True
            self._actuators.reset()
            self.plant.halt()
            self._acting = np.zeros(len(self.plant.q))
            self.plant.apply(self._acting)

    def _read(self) -> None:
        plant = self.plant
        q, qd = self.sensors.encoders.read(plant.q, plant.qd)
        self.sensors.transport.send(SensorReading(self.now, q, qd, plant.effort))
