# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How fast an arm's dynamics are on this machine, beside the other libraries that are installed."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import timeit
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros import create_dynamics
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.integrators.rk4 import rk4_step
from robodyn_ros.simulation.rollout import rollout

RUN_TIME = 2e-3
"""Approximate duration of a run [s]: long beside the resolution of the clock."""

BATCH = 100_000
"""States of a batch."""

STEPS = 1000
"""Steps of a rollout, of 1 ms each."""

QUANTITIES = {"inverse": 3, "forward": 3, "mass_matrix": 1, "gravity": 1}
"""Method of the dynamics → number of arrays that it takes."""

FIRST_CALL = """
import sys, time
begin = time.perf_counter()
import numpy
import robodyn_ros as rd
imported = time.perf_counter()
robot = rd.load_robot(sys.argv[1], accept=["impossible_inertia"])
z = numpy.zeros(robot.n)
rd.create_dynamics(sys.argv[2], robot).inverse(z, z, z)
print(imported - begin, time.perf_counter() - imported)
"""
"""Program that a new process runs: URDF and plugin in; times of import and of load, compile and call out [s]."""

Calls = dict[str, tuple[str, dict[str, Any]]]
"""Name → a statement to time, and the names in it."""


def measure(robot: Robot, plugin: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Return all figures: ``calls``, ``batch`` and ``rollout`` in [µs], ``first`` in [s].

    Args:
        robot: the arm.
        plugin: name of the dynamics plugin.
        rounds: how often each call is timed; the long ones a fifth as often.
    """
    fewer = max(5, rounds // 5)
    return {
        "calls": single_calls(robot, plugin, rounds),
        "batch": many_states(robot, plugin, fewer),
        "rollout": one_second(robot, plugin, fewer),
        "first": first_call(robot, plugin),
    }


def median_times(calls: Calls, rounds: int) -> dict[str, float]:
    """Return the median time of each call [µs] in many short runs.

    The calls take turns (ours, theirs, ours, …), so that a machine that changes its speed changes all of them.

    Args:
        calls: name → statement, and the names that it uses.
        rounds: how often each is timed.
    """
    timers = {name: timeit.Timer(statement, globals=names) for name, (statement, names) in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    repeats: dict[str, int] = {}
    for name, timer in timers.items():
        timer.timeit(1)
        repeats[name] = max(1, int(10 * RUN_TIME / timer.timeit(10)))
    for _ in range(rounds):
        for name, timer in timers.items():
            times[name].append(timer.timeit(repeats[name]) / repeats[name] * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def single_calls(robot: Robot, plugin: str, rounds: int) -> dict[str, dict[str, float]]:
    """Time one state at a time: quantity → library → time [µs].

    Ours has two entries: in place, where the plugin has kernels, and plain.

    Args:
        robot: the arm.
        plugin: name of the dynamics plugin.
        rounds: as for :func:`median_times`.
    """
    rng = np.random.default_rng(1)
    states = tuple(rng.uniform(-1.0, 1.0, (3, robot.n)))
    dynamics: Any = create_dynamics(plugin, robot)
    others = {name: calls(robot.urdf) for name, calls in OTHERS.items()}
    results = {}
    for quantity, count in QUANTITIES.items():
        timed: Calls = {}
        if hasattr(dynamics, "kernel"):
            kernel = dynamics.kernel(quantity)
            for own, value in zip(kernel.inputs, states, strict=False):
                own[:] = value
            timed["in place"] = "f()", {"f": kernel.evaluate}
        timed["plain"] = "f(*x)", {"f": getattr(dynamics, quantity), "x": states[:count]}
        timed |= {name: calls[quantity] for name, calls in others.items() if quantity in calls}
        results[quantity] = median_times(timed, rounds)
    return results


def many_states(robot: Robot, plugin: str, rounds: int) -> dict[str, float]:
    """Time the inverse dynamics of `BATCH` states on all processors: library → time of the batch [µs].

    Args:
        robot: the arm.
        plugin: name of the dynamics plugin.
        rounds: as for :func:`median_times`.
    """
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    dynamics = create_dynamics(plugin, robot, threads=threads)
    rng = np.random.default_rng(2)
    states = rng.uniform(-1.0, 1.0, (3, BATCH, robot.n))
    # One after the other and not in turns, because OpenMP's threads spin for a while after their work.
    taken = median_times({"ours": ("f(*states)", {"f": dynamics.inverse, "states": states})}, rounds)
    # With one joint this call of Pinocchio ends the process.
    if (model := pinocchio_model(robot.urdf)) is not None and model.nv > 1:
        import pinocchio

        q, v = (np.asfortranarray(rng.uniform(-1.0, 1.0, (rows, BATCH))) for rows in (model.nq, model.nv))
        names = {"f": pinocchio.rneaInParallel, "threads": threads, "pool": pinocchio.ModelPool(model, threads)}
        names |= {"q": q, "v": v, "out": np.zeros_like(v)}
        taken |= median_times({"Pinocchio": ("f(threads, pool, q, v, v, out)", names)}, rounds)
    return taken


def one_second(robot: Robot, plugin: str, rounds: int) -> dict[str, float]:
    """Time one second of passive motion by RK4 at 1 kHz [µs]: compiled, and in Python on both dynamics.

    Args:
        robot: the arm.
        plugin: name of the dynamics plugin.
        rounds: as for :func:`median_times`.
    """
    dynamics = create_dynamics(plugin, robot)
    q, zero = np.full(robot.n, 0.3), np.zeros(robot.n)

    def in_python(acceleration: Callable[..., Any]) -> None:
        position, rate = q, zero
        for _ in range(STEPS):
            position, rate = rk4_step(acceleration, position, rate, 1e-3)

    timed: Calls = {
        "ours": ("f(d, q, z, z, 1e-3, n)", {"f": rollout, "d": dynamics, "q": q, "z": zero, "n": STEPS}),
        "Python on ours": ("f(a)", {"f": in_python, "a": lambda a, b: dynamics.forward(a, b, zero)}),
    }
    model = pinocchio_model(robot.urdf)
    if model is not None and model.nq == robot.n:
        import pinocchio

        data = model.createData()
        names = {"f": in_python, "a": lambda a, b: pinocchio.aba(model, data, a, b, zero)}
        timed["Python on Pinocchio"] = "f(a)", names
    return median_times(timed, rounds)


def first_call(robot: Robot, plugin: str) -> dict[str, float]:
    """Time a new process from a URDF to its first effort [s]: import, and the rest with the cache empty and full.

    Args:
        robot: the arm.
        plugin: name of the dynamics plugin.

    Raises:
        subprocess.CalledProcessError: the new process failed.
    """
    with tempfile.TemporaryDirectory(prefix="robodyn-") as folder:
        path = Path(folder, "arm.urdf")
        path.write_text(robot.urdf, encoding="utf-8")
        taken = []
        for _ in range(2):
            command = [sys.executable, "-c", FIRST_CALL, str(path), plugin]
            environment = os.environ | {"XDG_CACHE_HOME": folder}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            taken.append([float(part) for part in done.stdout.split()])
    return {"import": taken[1][0], "cold": taken[0][1], "warm": taken[1][1]}


def pinocchio_model(xml: str) -> Any:
    """Return Pinocchio's model of the arm, or None if it is not installed or cannot read the arm.

    Args:
        xml: the URDF.
    """
    try:
        import pinocchio

        return pinocchio.buildModelFromXML(xml)
    except (ImportError, ValueError, RuntimeError):
        return None


def pinocchio_calls(xml: str) -> Calls:
    """Return the calls of Pinocchio (``pip install pin``).

    Args:
        xml: the URDF.
    """
    if (model := pinocchio_model(xml)) is None:
        return {}
    import pinocchio

    rng = np.random.default_rng(1)
    q = pinocchio.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    names = {"m": model, "d": model.createData(), "q": q}
    names |= dict(zip("vu", rng.uniform(-1.0, 1.0, (2, model.nv)), strict=True))
    calls = {1: "f(m, d, q)", 3: "f(m, d, q, v, u)"}
    functions = pinocchio.rnea, pinocchio.aba, pinocchio.crba, pinocchio.computeGeneralizedGravity
    pairs = zip(QUANTITIES.items(), functions, strict=True)
    return {name: (calls[count], names | {"f": function}) for (name, count), function in pairs}


def mujoco_calls(xml: str) -> Calls:
    """Return the calls of MuJoCo, without contact (``pip install mujoco``).

    Args:
        xml: the URDF.
    """
    try:
        import mujoco

        model = mujoco.MjModel.from_xml_string(_without_meshes(xml))
    except (ImportError, ValueError):
        return {}
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data = mujoco.MjData(model)
    data.qpos[:] = data.qvel[:] = data.qacc[:] = 0.3
    functions = {"inverse": mujoco.mj_inverse, "forward": mujoco.mj_forward}
    return {name: ("f(m, d)", {"f": function, "m": model, "d": data}) for name, function in functions.items()}


def toolbox_calls(xml: str) -> Calls:
    """Return the calls of Peter Corke's Robotics Toolbox for Python (``pip install roboticstoolbox-python``).

    Args:
        xml: the URDF.
    """
    try:
        from roboticstoolbox import Robot

        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            path = Path(folder, "arm.urdf")
            path.write_text(_without_meshes(xml))
            robot = Robot.URDF(str(path))
    except Exception:  # it is not installed, or its reader raises any error
        return {}
    q = np.full(robot.n, 0.3)
    functions = robot.rne, robot.accel, robot.inertia, robot.gravload
    pairs = zip(QUANTITIES.items(), functions, strict=True)
    return {name: ("f(*x)", {"f": function, "x": (q,) * count}) for (name, count), function in pairs}


OTHERS = {"Pinocchio": pinocchio_calls, "MuJoCo": mujoco_calls, "Robotics Toolbox": toolbox_calls}
"""Library → its calls for an arm's URDF, none if it is not installed or cannot read the arm."""


def _without_meshes(xml: str) -> str:
    return re.sub(r"<(visual|collision)\b[^>]*(?<!/)>.*?</\1>", "", xml, flags=re.DOTALL)
