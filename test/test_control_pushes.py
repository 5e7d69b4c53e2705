# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Somebody pushes the tool and keeps pushing: no fault of a sensor, with all checks of the loop on."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from industrial import urdf

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings, gains
from robodyn_ros.control.laws.tool import ToolLaw
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.plugins import load
from robodyn_ros.simulation import Plant, PlantSettings

ARMS = {
    "prr": ("tool", [0.6, 0.5, 0.9], 0.0),
    "ur5_robot": ("tool0", [0.3, -1.2, 1.5, -1.8, -1.57, 0.2], 0.1),
    "panda": ("panda_hand_tcp", [0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7, 0.02], 0.1),
}
"""The tool, a pose, and the inertia of the rotors that the URDF does not tell [kg m²]."""

PERIOD, RISE = 2e-3, 0.3
"""Of the states, and time in which a push rises [s]."""


@cache
def robot_of(name: str) -> rd.Robot:
    return rd.load_robot("prr" if name == "prr" else urdf(name))


class Bench:
    """An arm under a law with its default settings, at rest."""

    def __init__(self, name: str, law: str, safety: SafetySettings, **given) -> None:
        robot, (self.link, pose, inertia) = robot_of(name), ARMS[name]
        model, true = (rd.create_dynamics("rnea", robot) for _ in range(2))
        if inertia:
            for dynamics in (model, true):
                dynamics.configure(armature=np.full(robot.n, inertia))
        kind, self.start = load("controllers", law), np.array(pose)
        config = {"config": kind.settings(link=self.link, **given)} if issubclass(kind, ToolLaw) else {}
        made = kind(model, *gains(kind, model, robot.home, 30.0, 1.0), **config)
        self.loop, self.kinematics = ControlLoop(made, robot.effort_limit, safety), Kinematics(robot)
        free = np.full(robot.n, np.inf)
        self.plant = Plant(true, PlantSettings(PERIOD), q0=self.start, velocity_limit=free)
        self.place = self.kinematics.pose(self.link, self.start)[:3, 3]
        self.t = 0.0

    def step(self) -> None:
        """A period without a fault."""
        command = self.loop.update(self.t, self.t, self.plant.q, self.plant.qd)
        assert command is not None
        assert command.fault is None, f"{self.t:.3f} s: {command.problem}"
        self.plant.apply(command.effort)
        self.plant.step()
        self.t += PERIOD

    @property
    def moved(self) -> np.ndarray:
        """The tool's displacement (3,) [m]."""
        return self.kinematics.pose(self.link, self.plant.q)[:3, 3] - self.place


class Push(NamedTuple):
    """What a push did."""

    held: np.ndarray  # displacement at its end (3,) [m]
    speed: np.ndarray  # of the tool in each period of it (N,) [m/s]
    end: float  # distance from where the tool was, later [m]


def push(bench: Bench, force: np.ndarray, held: float, back: float) -> Push:
    """Push with a force in the root link's axes (3,) [N] for a time [s], let go, and wait for another [s]."""
    places = [bench.moved]
    for index in range(round(held / PERIOD)):
        rotation = bench.kinematics.pose(bench.link, bench.plant.q)[:3, :3]
        bench.plant.outside.push(bench.link, rotation.T @ force * min(index * PERIOD / RISE, 1.0))
        bench.step()
        places.append(bench.moved)
    bench.plant.outside.release()
    for _ in range(round(back / PERIOD)):
        bench.step()
    return Push(
        places[-1], np.linalg.norm(np.diff(places, axis=0), axis=1) / PERIOD, float(np.linalg.norm(bench.moved))
    )


SOME = ([1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [-0.6, 0.0, -0.8])
LAWS = ("computed_torque", "cartesian_impedance", "operational_space", "disturbance_observer")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ARMS)
def test_a_held_push_is_no_fault_and_the_tool_comes_back(name: str, law: str) -> None:
    """With the default settings of safety; the spring gives way as far as it says."""
    for direction in SOME[:2]:
        force = 20.0 * np.array(direction)
        found = push(Bench(name, law, SafetySettings()), force, 2.0, 2.5)
        if law == "cartesian_impedance":
            assert found.held == pytest.approx(force / 500.0, abs=1e-3)
        bounds = (0.0, 1e-3) if law == "disturbance_observer" else (2e-4, 0.1)  # that one finds the push
        assert bounds[0] <= np.linalg.norm(found.held) <= bounds[1]
        assert found.speed.max() > 1e-3
        assert found.end < 1e-3


@pytest.mark.parametrize(
    ("name", "law", "reach", "direction"),
    [
        *(("ur5_robot", "cartesian_impedance", 0.1, direction) for direction in SOME),
        ("panda", "cartesian_impedance", 0.1, SOME[1]),  # others are too much for a Panda's wrist
        *(("ur5_robot", "operational_space", 0.03, direction) for direction in SOME),
    ],
)
def test_beyond_its_reach_the_spring_gives_way_slowly_and_comes_back(
    name: str, law: str, reach: float, direction: list[float]
) -> None:
    """80 N against a spring that gives 50 N at most: it goes on, below the speed that the tool may have in a stream."""
    bench = Bench(name, law, SafetySettings(push_force=80.0, following_tolerance=0.0), reach=(reach, 0.5))
    found = push(bench, 80.0 * np.array(direction), 4.0, 0.6 / reach)
    assert np.linalg.norm(found.held) > 2.0 * reach
    assert found.speed.max() < 0.5  # while the push rises, within the spring's reach
    assert found.speed[round(0.8 / PERIOD) :].max() < 0.25
    assert found.end < 1e-3
