# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The hardware as a controller sees it: an arm with its drives and sensors, and its settings by name.

The data go through it in this order, with time as a count of the plant's steps:

    command   a command arrives                                 :meth:`Hardware.command`
    drives    clamp and delay it, follow it, and add their own terms; brakes hold the arm until the first command
    plant     the effort moves the arm, step by step            :mod:`robodyn_ros.simulation.plant.base`
    sensors   measure positions and velocities, and delay, drop and repeat the readings
    reading   a reading arrives                                 :meth:`Hardware.readings`

Drives and sensors are those of :mod:`.devices`. ``hardware.c`` makes the steps, and calls the plant: in C the native
one, in Python any other, and one whose drives add terms. Everything is deterministic: the same commands at the same
steps give the same readings, to the last bit, after every reset too. Brakes are rigid: a moving arm stops at once.

The simulator node's parameters and the command's options name the settings: a name is the name of a setting behind the
prefix of its group. The prefix of a joint's own settings contains the joint's name. :func:`make_hardware` goes from
named values to the hardware.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_row, finite_array
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.control.laws.base import FrictionCompensation
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.c_interface import address_of, kept
from robodyn_ros.errors import ConfigurationError, SimulationError
from robodyn_ros.plugins import available, create, load
from robodyn_ros.robot import Array, Joint, Robot
from robodyn_ros.settings import NONE, CheckedSettings, NamedValues, choice
from robodyn_ros.simulation import devices
from robodyn_ros.simulation.devices import Drives, SensorReading, Sensors, StateSettings
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings, create_plant
from robodyn_ros.simulation.plant.external_forces import Contact, WallSettings
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, StopSettings, urdf_friction
from robodyn_ros.simulation.plant.mismatch import Mismatch
from robodyn_ros.simulation.plant.native import ROWS, Plant

INTEGRATOR = "rk4"
"""The default integrator plugin."""

SMOOTHING = 0.01
"""Measured velocity at which drives that add friction add three quarters of the Coulomb friction [rad/s] or [m/s]."""


STEP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
"""The functions of Python that ``hardware.c`` calls: for a step of the plant, and when brakes engage."""

STATE = slice(ROWS.index("Q"), ROWS.index("EFFORT") + 1)
"""Rows of a frame: position, velocity and effort."""


class DriveModel:
    """The efforts that drives add to their commands, by their own model of the arm.

    Gravity and Coriolis efforts are those of the model at the present state; friction is that of the model, smoothed
    about standstill (:class:`robodyn_ros.control.laws.base.FrictionCompensation`).
    """

    def __init__(self, dynamics: Dynamics, terms: DriveCompensation) -> None:
        """
        Args:
            dynamics: the model in the drives.
            terms: the terms that they add.
        """
        self._dynamics, self._terms = dynamics, terms
        self._friction = FrictionCompensation(dynamics)

    def effort(self, q: Array, qd: Array, smoothing: float = SMOOTHING) -> Array:
        """The added efforts at one state, (n,), or at N states, (N, n), in [N·m] or [N].

        Args:
            q: position.
            qd: velocity.
            smoothing: as :data:`SMOOTHING`.
        """
        gravity, coriolis, friction = self._terms
        total: Array = gravity * self._dynamics.gravity(q)
        if coriolis.any():
            total = total + coriolis * (self._dynamics.coriolis_matrix(q, qd) @ qd[..., np.newaxis])[..., 0]
        if friction.any():
            total = total + friction * self._friction.against(qd, smoothing)
        return total


class Hardware:
    """An arm with its drives and sensors.

    Attributes:
        plant: the arm; its own time stands still while brakes hold it.
        native: the plant, if C moves it by itself: not one of another package, nor one whose drives add terms.
        drives: its drives.
        sensors: its sensors.
        states: settings of the readings.
        model: the efforts that the drives add; None if they add none.
        record: its struct in C.
        period: number of the plant's steps between two readings.
        interval: number of steps until the next reading can arrive: the period, or 1 if readings are delayed.
        failures: number of failed steps since the start; such a step would lead beyond the range of a simulation.
        failure: error of the step that has failed; the arm then stays where it is until a reset. None without one.
    """

    def __init__(
        self, plant: PlantBase, drives: Drives, sensors: Sensors, states: StateSettings, model: DriveModel | None = None
    ) -> None:
        """
        Args:
            plant: the arm in its initial state.
            drives: its drives.
            sensors: its sensors.
            states: settings of the readings.
            model: the efforts that the drives add; none by default.
        """
        self.plant = plant
        self.failures = 0
        self.failure: SimulationError | None
        self.period = states.period(plant.settings.step)
        self.interval = self.period if states.state_delay == states.state_jitter == 0.0 else 1
        self.drives, self.sensors, self.states, self.model = drives, sensors, states, model
        self.native = plant if type(plant) is Plant and model is None else None
        self._problems: list[BaseException] = []  # of a plant in Python
        n = plant.dynamics.robot.n
        self._library = devices.hardware_library(n)
        self.record = devices.hardware_structs(n).make("Hardware")
        self._fields = self.record.fields
        self._fields.period[...] = self.period
        self._point_to_parts(n)
        self.reset()

    def _point_to_parts(self, n: int) -> None:
        """Write the addresses of the devices, and of the plant and its functions."""
        parts: dict[str, Any] = {"drives": self.drives.record.address, "sensors": self.sensors.record.address}
        if self.native is not None:
            self._state = self.native.frame[STATE]
            parts["plant"] = int(self.native.address.value or 0)
            functions = [getattr(self.native.library, name) for name in ("plant_step", "plant_settle")]
        else:
            self._state = np.zeros((3, n))
            calls = self._move_plant, self._halt_plant
            self._calls = functions = [STEP(lambda _, call=call: self._moved(call)) for call in calls]
        parts |= zip(("step", "settle"), map(address_of, functions), strict=True)
        parts |= zip(("q", "v", "acting"), self._state, strict=True)
        self.record.set(parts)

    @property
    def now(self) -> int:
        """Time since the last reset [steps]."""
        return int(self._fields.now)

    @property
    def time(self) -> float:
        """Time since the last reset [s]."""
        return self.now * self.plant.settings.step

    def reset(self) -> None:
        """Go back to the initial state at time 0, and make the first reading."""
        self.plant.reset()
        self.drives.reset()
        self.failure = None
        fields = self._fields
        fields.now[...] = fields.moved[...] = fields.failed[...] = 0
        self.restart_readings()

    def restart_readings(self, count: int = 1) -> None:
        """Make the first reading again, with the random numbers of ``count`` readings; :meth:`advance` draws more."""
        self.release()
        self.sensors.reset()
        self.sensors.draw(count)
        self._arrived: list[SensorReading] = []
        q, v, _ = self._state
        places = [array.ctypes.data for array in (q, v, self._fields.effort)]
        self._library.sensors_read(self.sensors.record.address, 0, *places)

    def command(self, effort: ArrayLike) -> None:
        """Accept a command that arrives now; the brakes open when it reaches the drives.

        Args:
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: as :meth:`.Drives.command`; then nothing has changed.
        """
        self.drives.command(self.now, effort)

    def readings(self) -> list[SensorReading]:
        """Return the readings that have arrived by now; each is returned once."""
        self._arrived.extend(self.sensors.arrived(self.now))
        found, self._arrived = self._arrived, []
        return found

    def advance(self, steps: int) -> None:
        """Advance by a number of the plant's steps."""
        end = self.now + steps
        self.release()
        while self.now < end:
            until = min(end, (self.now // self.period + 1) * self.period)
            if until % self.period == 0:
                self.sensors.draw(1)
            while self._library.hardware_advance(self.record.address, until):
                self.acquire()
            self._arrived.extend(self.sensors.arrived(until))
        self.acquire()

    def release(self) -> None:
        """Let C work on the plant from now on."""
        self._show_state()
        if self.native is not None:
            self.native.release()

    def acquire(self) -> None:
        """Take over what C has made of the plant, and the error of a step that has failed.

        Raises:
            BaseException: any other exception of a plant, or of its dynamics or integrator.
        """
        if self.native is not None:
            self.native.acquire(int(self._fields.moved))
        end = int(self._fields.failed)
        if not end or self.failure is not None:
            return
        self._fields.failed[...] = 0  # after any other exception the arm moves on
        if self.native is not None:
            self._problems.append(self.native.failure())
        problem = self._problems.pop() if self._problems else KeyboardInterrupt()  # ctypes may lose that one
        if not isinstance(problem, SimulationError):
            raise problem
        self._fields.failed[...] = end
        self.failures += 1
        self.failure = SimulationError(f"at {end * self.plant.settings.step:.9g} s: {problem}")

    # A plant in Python, called by C

    def _move_plant(self) -> None:
        """A step with the efforts of the drives, and those that they add."""
        plant, effort = self.plant, self.drives.effort
        plant.apply(effort.copy() if self.model is None else effort + self.model.effort(plant.q, plant.qd))
        plant.step()

    def _halt_plant(self) -> None:
        """The brakes engage."""
        self.plant.halt()
        self.plant.apply(self.drives.effort.copy())

    def _moved(self, call: Callable[[], None]) -> int:
        """Move the plant, and show C its state; nonzero if it fails."""
        fails = kept(call, self._problems)
        self._show_state()
        return fails

    def _show_state(self) -> None:
        plant = self.plant
        self._state[:2] = plant.q, plant.qd
        self._fields.effort[...] = plant.effort


def make_hardware(values: NamedValues, robot: Robot) -> Hardware:
    """Make hardware from named values.

    Args:
        values: the values of :func:`default_values`, ``dynamics`` and ``gravity``.
        robot: the arm.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    return make_hardware_settings(values, robot).assemble()


def make_hardware_settings(values: NamedValues, robot: Robot) -> HardwareSettings:
    """Make only the settings of the hardware; arguments and errors as :func:`make_hardware`."""
    own: dict[type[Any], list[Any]] = {}
    for group in joint_groups(robot):
        kind = type(group.defaults)
        own.setdefault(kind, []).append(values.settings(kind, group.prefix))
    start = tuple(float(finite_array(name, values[name], ())) for name in initial_positions(robot))
    check_position_limits("initial_position", robot, np.array(start), list(range(robot.n)))
    chosen, states = values.settings(PlantPlugins), values.settings(StateSettings)
    friction = own[FrictionSettings]
    parameters: dict[str, Any] = {"gravity": as_row(values["gravity"])}
    mismatch = values.settings(Mismatch, "mismatch.")
    if mismatch != Mismatch():
        sampled = mismatch.draw(robot, states.seed, friction)
        parameters |= sampled.parameters
        friction = list(sampled.friction)
    arm = robot, chosen.plant, chosen.integrator, values["dynamics"], parameters
    whole = values.settings(PlantSettings), states, values.settings(devices.CommandSettings)
    kinds = StopSettings, devices.DriveSettings, devices.EncoderSettings
    stops, drives, encoders = (tuple(own[kind]) for kind in kinds)
    joints = tuple(friction), stops, drives, encoders
    return HardwareSettings(*arm, *whole, *joints, start, values.settings(WallSettings, "wall.").contacts())


class HardwareSettings(NamedTuple):
    """The settings of all parts of the hardware; tuples have one entry for each joint."""

    robot: Robot
    plant: str  # name of the plugin
    integrator: str  # name of the plugin
    dynamics: str  # name of the plugin
    parameters: dict[str, Any]  # parameters of the dynamics that differ from the robot's
    plant_settings: PlantSettings
    states: StateSettings
    commands: devices.CommandSettings
    friction: tuple[FrictionSettings, ...]
    stops: tuple[StopSettings, ...]
    drives: tuple[devices.DriveSettings, ...]
    encoders: tuple[devices.EncoderSettings, ...]
    start: tuple[float, ...]  # initial positions [rad] or [m]
    contacts: tuple[Contact, ...] = ()  # walls and springs that the arm may touch

    def assemble(self, dynamics: Dynamics | None = None) -> Hardware:
        """Make the hardware.

        Args:
            dynamics: the equations of motion of its arm, with their parameters; made unless given.

        Raises:
            RobodynError: a setting does not fit the arm or another setting.
        """
        dynamics = dynamics or create("dynamics", self.dynamics, self.robot, **self.parameters)
        options: dict[str, Any] = {"q0": self.start, "friction": list(self.friction), "stops": list(self.stops)}
        # Those of the described arm; the dynamics may be of an arm with other limits, because they do not use them.
        options |= {"effort_limit": self.robot.effort_limit, "velocity_limit": self.robot.velocity_limit}
        taken = signature(load("plants", self.plant)).parameters
        if "integrator" not in taken and self.integrator != INTEGRATOR:
            raise ConfigurationError(f"integrator: the plant {self.plant!r} has its own, not {self.integrator!r}")
        if "contacts" not in taken and self.contacts:
            raise ConfigurationError(f"wall.link: the plant {self.plant!r} has no walls; native has")
        own = {"integrator": self.integrator, "contacts": self.contacts}
        options |= {name: value for name, value in own.items() if name in taken}
        plant = create_plant(self.plant, dynamics, self.plant_settings, **options)
        step = self.plant_settings.step
        drives = Drives(self.drives, self.commands, step, plant.effort_limit)
        return Hardware(plant, drives, Sensors(self.encoders, self.states, step), self.states, self._drive_model())

    def _drive_model(self) -> DriveModel | None:
        """The efforts that the drives add, None without any. Their model is the described arm, without a mismatch.

        Raises:
            InputError: a term or a joint is unknown.
        """
        if set(self.commands.drive_adds) <= {NONE}:
            return None
        nominal = create("dynamics", self.dynamics, self.robot, gravity=self.parameters["gravity"])
        return DriveModel(nominal, DriveCompensation.of(self.robot, self.commands.drive_adds, "drive_adds"))


@dataclass(frozen=True)
class PlantPlugins(CheckedSettings):
    """The plugins of the plant; each field's metadata describe it."""

    plant: str = choice("native", "plant plugin", lambda: available("plants"))
    integrator: str = choice(INTEGRATOR, "integrator plugin of the native plant", lambda: available("integrators"))


class SettingsGroup(NamedTuple):
    """Settings whose names have a common prefix."""

    prefix: str
    defaults: Any  # dataclass of settings
    joint: Joint | None = None  # the joint that they belong to; None for the whole arm


def arm_groups() -> tuple[SettingsGroup, ...]:
    """Return the groups of settings of the whole arm."""
    whole = ("", PlantPlugins()), ("", PlantSettings()), ("", StateSettings()), ("", devices.CommandSettings())
    return tuple(SettingsGroup(*each) for each in (*whole, ("mismatch.", Mismatch()), ("wall.", WallSettings())))


def joint_groups(robot: Robot) -> Iterator[SettingsGroup]:
    """Yield the groups of settings of each joint, with the URDF's friction as default."""
    others = {"stops": StopSettings(), "actuators": devices.DriveSettings(), "sensors": devices.EncoderSettings()}
    for joint, friction in zip(robot.joints, urdf_friction(robot), strict=True):
        for name, defaults in ({"friction": friction} | others).items():
            yield SettingsGroup(f"{name}.{joint.name}.", defaults, joint)


def initial_positions(robot: Robot) -> dict[str, float]:
    """Name → default initial position of each joint, the nearest to 0 within its limits [rad] or [m]."""
    return {f"initial_position.{joint.name}": min(max(0.0, joint.lower), joint.upper) for joint in robot.joints}


def default_values(robot: Robot) -> dict[str, Any]:
    """Name → default value of every setting."""
    found: dict[str, Any] = dict(initial_positions(robot))
    for group in (*arm_groups(), *joint_groups(robot)):
        found |= {group.prefix + name: value for name, value in vars(group.defaults).items()}
    return found
