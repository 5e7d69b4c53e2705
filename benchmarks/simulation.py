# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How fast a motion is simulated: offline rollouts beside SciPy, and the plants step by step.

    make bench-sim            a table
    make bench-sim BENCH=--json

The PRR arm swings across its rail for ten seconds. Every figure is the median of several runs, taken in turn, so that a
machine that changes its speed changes all. SciPy integrates the same equations: the same compiled forward dynamics,
called from Python.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import PRR, in_turns, options, report
from scipy.integrate import solve_ivp

import robodyn_ros as rd
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.simulation import PlantSettings
from robodyn_ros.simulation.integrators.dop853 import DOP853
from robodyn_ros.simulation.plant.base import PlantBase, create_plant
from robodyn_ros.simulation.rollout import rollout

STEP = 1e-3
DURATION = 10.0
STEPS = round(DURATION / STEP)
START = np.array([1.0, 0.4, 0.3])
ACROSS = (9.81, 0.0, 0.0)
HOLDING = np.array([0.5, 0.5, 0.2])


def row_of(name: str, steps: int, taken: list[float], error: float | None = None) -> dict[str, Any]:
    """A way to simulate: steps of a run, times of runs [s], and the greatest error of a position at the end."""
    rate = steps / statistics.median(taken)
    return {"way": name, "steps/s": rate, "µs a step": 1e6 / rate, "error after 10 s [rad or m]": error}


def rollouts(repeats: int) -> list[dict[str, Any]]:
    """The integrators, and SciPy's solve_ivp beside them."""
    dynamics, zero = rd.create_dynamics("rnea", rd.load_robot(PRR), gravity=ACROSS), np.zeros(3)
    truth = rollout(dynamics, START, zero, zero, DURATION, 1, DOP853(1e-13)).q[-1]

    def ours(name: str) -> Callable[[], tuple[int, np.ndarray]]:
        return lambda: (STEPS, rollout(dynamics, START, zero, zero, STEP, STEPS, name).q[-1])

    def scipy(method: str, **options: float) -> Callable[[], tuple[int, np.ndarray]]:
        def slope(_: float, state: np.ndarray) -> np.ndarray:
            return np.concatenate((state[3:], dynamics.forward(state[:3].copy(), state[3:].copy(), zero)))

        def run() -> tuple[int, np.ndarray]:
            found = solve_ivp(slope, (0.0, DURATION), np.concatenate((START, zero)), method=method, **options)
            return len(found.t) - 1, found.y[:3, -1]

        return run

    entrants = {name: ours(name) for name in rd.available("integrators") if name != "dop853"}
    entrants["solve_ivp RK45, steps of 1 ms"] = scipy("RK45", max_step=STEP, rtol=1e-3, atol=1e-3)
    entrants["solve_ivp DOP853, rtol 1e-12"] = scipy("DOP853", rtol=1e-12, atol=1e-12)
    results = {name: run() for name, run in entrants.items()}  # compiles
    return [
        row_of(name, results[name][0], taken, float(np.abs(results[name][1] - truth).max()))
        for name, taken in in_turns(entrants, repeats).items()
    ]


def plants(repeats: int, steps: int = 1000) -> list[dict[str, Any]]:
    """The plants: in one go, step by step, and with a command at every step."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    hold = dynamics.gravity(HOLDING)

    def at_once(plant: PlantBase) -> None:
        plant.step(steps)

    def one_by_one(plant: PlantBase) -> None:
        for _ in range(steps):
            plant.step()

    def commanded(plant: PlantBase) -> None:
        for _ in range(steps):
            plant.apply(hold)
            plant.step()

    def run(plant: PlantBase, way: Callable[[PlantBase], None], effort: np.ndarray) -> None:
        plant.reset()
        plant.apply(effort)
        way(plant)

    entrants = {}
    for name in rd.available("plants"):
        try:
            plant = create_plant(name, dynamics, PlantSettings(STEP), q0=HOLDING)
        except ConfigurationError:  # MuJoCo is not installed
            continue
        for way in (at_once, one_by_one, commanded):
            entrants[f"plant {name}, {way.__name__.replace('_', ' ')}"] = partial(run, plant, way, hold)
    resting = create_plant("native", dynamics, PlantSettings(STEP), q0=[0.0, 0.5, 0.2])  # carried by its lower stop
    entrants["plant native, elevator on its stop"] = partial(run, resting, one_by_one, hold * [0.0, 1.0, 1.0])
    return [row_of(name, steps, taken) for name, taken in in_turns(entrants, repeats).items()]


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="runs of each (default: %(default)s)")
    args = parser.parse_args()
    report({"PRR arm": [*rollouts(args.repeats), *plants(args.repeats)]}, args.json)


if __name__ == "__main__":
    main()
