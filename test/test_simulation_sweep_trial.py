# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A trial in C beside a plain loop over simulated hardware: the same case and seed, the same trial to rounding."""

import numpy as np
import pytest
from arms import joint, link, robot
from trials import PRR, hardware_of, loop_of

import robodyn_ros as rd
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.errors import InputError, JumpError, LimitError, RobodynError
from robodyn_ros.plugins import load_whole
from robodyn_ros.simulation.hardware import Hardware
from robodyn_ros.simulation.plant.native import Plant
from robodyn_ros.simulation.trial import Trial, TrialSamples
from robodyn_ros.simulation.trial_run import run_trial, run_until_fault

NAMES = PRR.joint_names

TURNING = rd.load_robot(
    robot(
        "turning",
        link("base"),
        link("first", 2.5, (0.21, 0.02, -0.03), (0.02, 0.001, 0.002, 0.05, 0.003, 0.06)),
        link("second", 1.25, (0.05, 0.17, 0.01), (0.03, 0.002, 0.001, 0.01, 0.0015, 0.035)),
        joint("spin", "continuous", "base", "first", (0, 0.6, 0.8), limit=None),
        joint("swing", "revolute", "first", "second", (1, 0, 0), xyz=(0.4, 0.05, 0.1), rpy=(0.3, -0.2, 0.5)),
    )
)
"""A continuous joint about a tilted axis, and no limits on it."""


def each(prefix, quantity, values):
    return {f"{prefix}.{name}.{quantity}": value for name, value in zip(NAMES, values, strict=True)}


FRICTION = (
    each("friction", "coulomb", (5.0, 1.0, 0.3))
    | each("friction", "static_friction", (7.0, 1.4, 0.4))
    | each("friction", "viscous", (3.0, 0.2, 0.1))
    | each("friction", "stribeck_velocity", (0.04, 0.05, 0.06))
)
NOISE = each("sensors", "position_noise", (1e-5, 2e-5, 3e-5)) | each("sensors", "velocity_noise", (1e-3, 2e-3, 4e-3))
LINE = {"state_delay": 0.002, "state_jitter": 0.003, "state_drop": 0.1, "state_repeat": 0.1, "command_delay": 0.0015}
DRIVES = each("actuators", "lag", (0.004, 0.003, 0.002)) | each("actuators", "rate_limit", (5e3, 3e3, 2e3))
MISMATCH = {"mismatch.payload_mass": 0.8, "mismatch.mass_spread": 0.1, "mismatch.com_spread": 0.01, "seed": 5}
WEAK = {"effort_limits.elevator": 240.0, "effort_limits.shoulder": 45.0, "effort_rate_limits.wrist": 900.0}
UNCOMPARED = {"plausibility": False, "following_tolerance": 0.0}
"""The states of these trials cannot be true, and that is not what they are about."""
SLOW = each("gains", "natural_frequency", (10.0, 10.0, 10.0))
WALL = {"wall.link": "hand", "wall.point": [0.0, 0.0, 0.25], "wall.normal": [0.0, 0.0, 1.0]}
SOFT = {"controller": "pd"} | each("gains", "natural_frequency", (3.0, 4.0, 5.0))

CASES = {
    "bare": ({}, {}),
    "friction": (FRICTION, {"controller": "impedance"}),
    "noise, a line and drives": (FRICTION | NOISE | LINE | DRIVES, {"controller": "gravity_compensation"} | SLOW),
    "another arm, integral": (FRICTION | NOISE | MISMATCH, each("gains", "integral_rate", (1.0, 2.0, 3.0))),
    "weak": (FRICTION | MISMATCH, WEAK | SLOW | {"following_tolerance": 2.0}),
    "at its stops": ({"stops.elevator.restitution": 0.5}, SOFT | UNCOMPARED),
    "at soft stops": (
        FRICTION | each("stops", "stiffness", (9e4, 3e3, 2e3)) | each("stops", "dissipation", (1, 2, 3)),
        SOFT | {"following_tolerance": 2.0},
    ),
    "stiff friction": (FRICTION | each("friction", "viscous", (3.0, 0.2, 4e3)), SOFT | UNCOMPARED),
    "as fast as it goes": (FRICTION | {"state_rate": 1000.0}, each("gains", "natural_frequency", (60.0, 50.0, 40.0))),
    "coarse commands": (each("actuators", "resolution", (0.5, 0.1, 0.02)), {}),
    "differences": (NOISE | {"velocity_source": "differentiated", "state_rate": 1000.0}, {"dynamics": "lagrangian"}),
    "too fast": ({"sensors.shoulder.velocity_noise": 5.0}, UNCOMPARED),
    "too late": ({"state_delay": 0.11}, {}),
    "gaps": ({"state_drop": 0.9, "state_rate": 50.0}, {}),
    "drives that are thought to help": (
        FRICTION,
        {"drive_compensates": ["friction", "coriolis.shoulder", "gravity.wrist"], "following_tolerance": 0.0},
    ),
    "a reference that must not stop": (NOISE, {"cmd_timeout": 0.3}),
    "tolerances": (NOISE, {"constraints.wrist.trajectory": 0.5}),
    "beyond a tolerance": (FRICTION, {"constraints.wrist.trajectory": 1e-4}),
    "commands that are missing": (
        {"command_timeout": 0.03, "on_command_timeout": "zero", "state_drop": 0.8},
        UNCOMPARED,
    ),
    "brakes": ({"command_timeout": 0.03, "on_command_timeout": "brake", "state_drop": 0.8}, UNCOMPARED),
    "a jump": ({"sensors.shoulder.position_noise": 0.05}, {}),
    "at a wall": (FRICTION | WALL, SOFT),
}
FAULTS = {"too fast": "speed: ", "too late": "states: ", "gaps": "states: ", "a jump": "sensor: joint 'shoulder'"}
FAULTS |= {"at a wall": "following: joint 'elevator' moves as with"}


def samples(rows, n, *names):
    """Rows of time, stamp and values, as samples."""
    columns = {name: np.array([row[2 + k] for row in rows]).reshape(-1, n) for k, name in enumerate(names)}
    return TrialSamples(np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), columns)


def plain_trial(hardware, loop, duration):
    """A trial until its first fault, as the nodes would run it: hardware that moves step by step, and its loop."""
    n, step, nowhere = len(hardware.plant.q), hardware.plant.settings.step, np.full(len(hardware.plant.q), np.nan)
    truth, states, commands, faults = [], [], [], {}

    def send(command, stamp):
        if loop.fault is not None:  # it may begin without a command
            faults[f"{loop.fault.kind}: {loop.problem_of(loop.fault.kind, vars(loop.memory()))}"] = 1
        if faults or command is None:
            return
        hardware.command(command.effort)
        q, qd = (nowhere, nowhere) if command.reference is None else (command.reference.q, command.reference.qd)
        commands.append((hardware.time, stamp, command.effort, q, qd))

    while not faults:
        for reading in hardware.readings():
            stamp = reading.step * step
            states.append((hardware.time, stamp, reading.q, reading.qd, reading.effort))
            try:
                send(loop.update(stamp, hardware.time, reading.q, reading.qd), stamp)
            except JumpError:
                continue
            except RobodynError as problem:
                faults[f"state refused: {problem}"] = 1
            if faults:
                break
        if not faults and hardware.now % hardware.period == 0:
            send(loop.watch(hardware.time), hardware.time)
        if not faults and hardware.now % hardware.period == 0:
            truth.append((hardware.time, hardware.time, hardware.plant.q, hardware.plant.qd, hardware.plant.effort))
        if hardware.now >= round(duration / step):
            break
        hardware.advance(1)
    names = ("q", "qd", "effort")
    rows = samples(truth, n, *names), samples(states, n, *names), samples(commands, n, "effort", *names[:2])
    return Trial(*rows, faults, loop.settings.limits.effort)


def both(robot, simulator, controller, poses, duration=1.5):
    """A plain trial and one in C."""
    hardware_settings, loop_settings = hardware_of(simulator, robot), loop_of(controller, robot)
    hardware, loop = hardware_settings.assemble(), ControlLoop.from_settings(loop_settings)
    stops = np.array([hardware_settings.start, *poses])
    motion = rest_to_rest(stops, np.linspace(0.0, 0.9 * duration, len(stops))) if poses else None
    loop.start(0.0, hardware.plant.q)
    if motion is not None:
        loop.follow(motion, 0.0)
    slow = plain_trial(hardware, loop, duration)
    loop_settings.controller.forget()  # what it learnt in the first trial
    dynamics = rd.create_dynamics(hardware_settings.dynamics, robot, **hardware_settings.parameters)
    return slow, run_until_fault(
        hardware_settings, dynamics, ControlLoop.from_settings(loop_settings), motion, duration
    )


def assert_same(one, other, tolerance):
    assert one.faults == other.faults
    for kind in ("truth", "states", "commands"):
        first, second = getattr(one, kind), getattr(other, kind)
        assert (first.t == second.t).all()
        assert (first.stamp == second.stamp).all()
        for name, values in first.values.items():
            scale = max(1.0, np.abs(values).max(initial=0.0))
            np.testing.assert_allclose(second.values[name], values, rtol=0.0, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("name", CASES)
def test_c_and_python_agree(name):
    simulator, controller = CASES[name]
    slow, ran = both(PRR, simulator, controller, [(0.3, -1.0, 0.4), (0.6, 0.2, -0.3)])
    assert ran.compiled
    assert_same(slow, ran.trial, 1e-9)
    (fault,) = slow.faults or [""]
    assert fault.startswith(FAULTS.get(name, "")) and bool(fault) == (name in FAULTS)
    assert len(slow.truth.t) > 5 or name in FAULTS


@pytest.mark.parametrize("simulator", [{"drive_adds": ["gravity"]}, {"plant": "mujoco", "actuators.wrist.lag": 0.004}])
def test_drives_that_help_and_other_plants_are_called_back(simulator):
    if "plant" in simulator:
        pytest.importorskip("mujoco")
    controller = {"drive_compensates": ["gravity"]} if "drive_adds" in simulator else {}
    slow, outcome = both(PRR, simulator, controller, [[0.2, 0.3, -0.2]], 0.3)
    assert not outcome.compiled
    assert_same(slow, outcome.trial, 1e-12)


def test_a_plant_of_another_package_makes_its_own_steps():
    class Counted(Plant):
        steps = 0

        def step(self, count=1):
            self.steps += count
            super().step(count)

    loop, hardware = ControlLoop.from_settings(loop_of({})), hardware_of({}).assemble()
    hardware = Hardware(Counted(hardware.plant.dynamics), hardware.drives, hardware.sensors, hardware.states)
    run_trial(hardware, loop, 0.05)
    assert hardware.plant.steps >= 0.049 / hardware.plant.settings.step  # brakes hold it in the first


class StoppedError(BaseException):
    """What no code expects, as a key that interrupts."""


@pytest.mark.parametrize("where", ["progress", "plant", "law"])
def test_what_python_raises_ends_a_trial(where, monkeypatch):
    hardware, seen = hardware_of({"drive_adds": ["gravity"]}).assemble(), []
    loop = ControlLoop.from_settings(loop_of({"drive_compensates": ["gravity"]}))

    def stop(*_, **_how):
        seen.append(hardware.now)
        if len(seen) == 5:
            raise StoppedError

    if where == "plant":
        monkeypatch.setattr(hardware.plant, "step", stop)
    if where == "law":
        monkeypatch.setattr(loop, "period_result", stop)
        loop.set_publisher_conflict("two publishers")
    with pytest.raises(StoppedError):
        run_trial(hardware, loop, 0.2, stop if where == "progress" else None)
    assert len(seen) == 5
    with pytest.raises(InputError, match=r"hardware: has run for 0\.0\d+ s: reset it first"):
        run_trial(hardware, loop, 0.2)


def test_joints_that_turn_round_go_on_across_the_seam():
    start = {"initial_position.spin": 2.9, "sensors.spin.position_noise": 1e-5}
    slow, ran = both(TURNING, start, {"controller": "impedance"}, [(3.6, 0.5), (2.0, -0.3)])
    assert ran.compiled
    assert slow.truth.values["q"][:, 0].max() > 3.2
    assert_same(slow, ran.trial, 1e-9)


def test_to_stay_is_a_motion_too():
    slow, ran = both(PRR, FRICTION, {}, [], 0.3)
    assert ran.compiled
    assert_same(slow, ran.trial, 1e-9)


def test_readings_in_coarse_steps_agree_until_rounding_decides():
    """Between two readings that differ nobody corrects what rounding does to an arm on its head: the beginning only."""
    slow, ran = both(PRR, each("sensors", "resolution", (1e-4, 2e-4, 3e-4)), {}, [(0.1, -0.2, 0.1)], 0.3)
    assert_same(slow, ran.trial, 1e-9)


@pytest.mark.parametrize("name", [name for name in rd.available("controllers") if name != "mpc"])
def test_every_traced_law_runs_in_c(name):
    settings = {"controller": name} | each("gains", "integral_rate", (1.0, 2.0, 3.0))
    poses = [(0.3, -1.0, 0.4), (0.6, 0.2, -0.3)] if load_whole("controllers", name).follows else []
    slow, ran = both(PRR, FRICTION | NOISE | MISMATCH | DRIVES, settings, poses)
    assert ran.compiled
    assert_same(slow, ran.trial, 1e-9)


def test_a_motion_that_is_not_for_the_arm_is_refused():
    with pytest.raises(LimitError, match="speed"):
        both(PRR, {}, {}, [(2.0, -1.0, 0.4)], 0.1)
    with pytest.raises(LimitError, match=r"^initial_position: joint 'wrist' at 3 "):
        hardware_of({"initial_position.wrist": 3.0})
