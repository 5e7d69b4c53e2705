"""How fast an arm's dynamics are on this machine, beside others that are installed, in the same run.

Every figure is the median of many short runs, taken in turn (ours, theirs, ours, …), so that a machine that changes its
speed changes both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros import Robot, create_dynamics
from robodyn_ros.cli.bench_others import OTHERS, pinocchio_model
from robodyn_ros.simulation.rk4 import rk4_step
from robodyn_ros.simulation.rollouts import rollout

BATCH = 100_000
"""States of a batch."""

STEPS = 1000
"""Steps of a rollout, of 1 ms each."""

QUANTITIES = {"inverse": 3, "forward": 3, "mass_matrix": 1, "gravity": 1}
"""What is called → how many arrays it takes."""

_RUN = 2e-3  # [s] that a run takes about, so that the clock's own time does not count


def race(entrants: dict[str, tuple[str, dict[str, Any]]], rounds: int) -> dict[str, float]:
    """Median time of one call of each [µs], the entrants taking turns; a statement and its names each."""
    timers = {name: timeit.Timer(statement, globals=names) for name, (statement, names) in entrants.items()}
    times: dict[str, list[float]] = {name: [] for name in entrants}
    calls: dict[str, int] = {}
    for name, timer in timers.items():
        timer.timeit(1)
        calls[name] = max(1, int(10 * _RUN / timer.timeit(10)))
    for _ in range(rounds):
        for name, timer in timers.items():
            times[name].append(timer.timeit(calls[name]) / calls[name] * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def single_calls(robot: Robot, plugin: str, rounds: int) -> dict[str, dict[str, float]]:
    """One state at a time: quantity → who → time [µs]; ours in place where the plugin has kernels, and plain."""
    rng = np.random.default_rng(1)
    states = tuple(rng.uniform(-1.0, 1.0, (3, robot.n)))
    dynamics: Any = create_dynamics(plugin, robot)
    others = {name: calls(robot.urdf) for name, calls in OTHERS.items()}
    results = {}
    for quantity, count in QUANTITIES.items():
        entrants: dict[str, tuple[str, dict[str, Any]]] = {}
        if hasattr(dynamics, "kernel"):
            kernel = dynamics.kernel(quantity)
            for own, value in zip(kernel.inputs, states, strict=False):
                own[:] = value
            entrants["in place"] = "f()", {"f": kernel.evaluate}
        entrants["plain"] = "f(*x)", {"f": getattr(dynamics, quantity), "x": states[:count]}
        entrants |= {name: calls[quantity] for name, calls in others.items() if quantity in calls}
        results[quantity] = race(entrants, rounds)
    return results


def many_states(robot: Robot, plugin: str, rounds: int) -> dict[str, float]:
    """Inverse dynamics of `BATCH` states, on as many threads each: who → time of all [µs]."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    dynamics = create_dynamics(plugin, robot, threads=threads)
    rng = np.random.default_rng(2)
    states = rng.uniform(-1.0, 1.0, (3, BATCH, robot.n))
    # One after the other, not in turns: OpenMP's threads go on spinning for a while after their work.
    taken = race({"ours": ("f(*states)", {"f": dynamics.inverse, "states": states})}, rounds)
    if (model := pinocchio_model(robot.urdf)) is not None:
        import pinocchio

        names = {
            "f": pinocchio.rneaInParallel,
            "threads": threads,
            "pool": pinocchio.ModelPool(model, threads),
            "q": np.asfortranarray(rng.uniform(-1.0, 1.0, (model.nq, BATCH))),
            "v": np.asfortranarray(rng.uniform(-1.0, 1.0, (model.nv, BATCH))),
            "out": np.zeros((model.nv, BATCH), order="F"),
        }
        taken |= race({"Pinocchio": ("f(threads, pool, q, v, v, out)", names)}, rounds)
    return taken


def one_second(robot: Robot, plugin: str, rounds: int) -> dict[str, float]:
    """A second of passive motion by RK4 at 1 kHz [µs]: one compiled call, beside RK4 in Python on both dynamics."""
    dynamics = create_dynamics(plugin, robot)
    q, zero = np.full(robot.n, 0.3), np.zeros(robot.n)

    def in_python(acceleration: Callable[..., Any]) -> None:
        position, rate = q, zero
        for _ in range(STEPS):
            position, rate = rk4_step(acceleration, position, rate, 1e-3)

    entrants: dict[str, tuple[str, dict[str, Any]]] = {
        "ours": ("f(d, q, z, z, 1e-3, n)", {"f": rollout, "d": dynamics, "q": q, "z": zero, "n": STEPS}),
        "Python on ours": ("f(a)", {"f": in_python, "a": lambda a, b: dynamics.forward(a, b, zero)}),
    }
    model = pinocchio_model(robot.urdf)
    if model is not None and model.nq == robot.n:
        import pinocchio

        data = model.createData()
        entrants["Python on Pinocchio"] = (
            "f(a)",
            {"f": in_python, "a": lambda a, b: pinocchio.aba(model, data, a, b, zero)},
        )
    return race(entrants, rounds)


_FIRST = """
import sys, time
begin = time.perf_counter()
import numpy
import robodyn_ros as rd
imported = time.perf_counter()
robot = rd.load_robot(sys.argv[1])
z = numpy.zeros(robot.n)
rd.create_dynamics(sys.argv[2], robot).inverse(z, z, z)
print(imported - begin, time.perf_counter() - imported)
"""


def first_call(robot: Robot, plugin: str) -> dict[str, float]:
    """Seconds from a URDF to its first effort in a process that has only just imported the package."""
    with tempfile.TemporaryDirectory(prefix="robodyn-") as folder:
        path = Path(folder, "arm.urdf")
        path.write_text(robot.urdf, encoding="utf-8")
        taken = []
        for _ in range(2):
            command = [sys.executable, "-c", _FIRST, str(path), plugin]
            environment = os.environ | {"XDG_CACHE_HOME": folder}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            taken.append([float(part) for part in done.stdout.split()])
    return {"import": taken[1][0], "cold": taken[0][1], "warm": taken[1][1]}


def measure(robot: Robot, plugin: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Everything: ``calls`` and ``batch`` and ``rollout`` in [µs], ``first`` in [s]."""
    fewer = max(5, rounds // 5)
    return {
        "calls": single_calls(robot, plugin, rounds),
        "batch": many_states(robot, plugin, fewer),
        "rollout": one_second(robot, plugin, fewer),
        "first": first_call(robot, plugin),
    }
