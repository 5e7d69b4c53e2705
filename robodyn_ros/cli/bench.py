# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn bench``: how fast an arm's dynamics are on this machine, and is it good enough for control.

Measures the dynamics of an arm on this machine: single calls (in place: in
memory of the caller, as a control loop does it; plain: arrays in, array out),
many states at once, a rollout, and the time until the first effort. Pinocchio,
MuJoCo and the Robotics Toolbox do the same work beside it where they are
installed (pip install pin mujoco).

With --computer it measures for half a minute how well this computer keeps the
times of a control loop, and shows the rates and gains that are safe here. The
answer is no if the default gains are not.

Examples:
    robodyn bench arm.urdf                        table
    robodyn bench arm.urdf --dynamics lagrangian  the other formulation
    robodyn bench arm.urdf --json                 for a script
    robodyn bench --computer --rate 1000          this computer at 1 kHz
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import timeit
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from robodyn_ros import create_dynamics
from robodyn_ros.cli import computer
from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.computer import Allowance, Timing
from robodyn_ros.cli.console import console, print_json, simple_table, waiting
from robodyn_ros.cli.verb import ExitCode
from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.engine.casadi import need_casadi
from robodyn_ros.errors import InputError
from robodyn_ros.files import find
from robodyn_ros.robot import Robot, load_robot
from robodyn_ros.simulation.integrators.rk4 import rk4_step
from robodyn_ros.simulation.rollout import rollout

RATE, SECONDS = 500.0, 30.0
"""Default rate of the states [Hz], and default duration of the measurement [s], of the computer."""

ROUNDS = 30
"""Default number of runs that a median is taken of."""

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


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser, nargs="?", help="the arm: a URDF, or a .xacro file with its arguments as name:=value")
    text = (
        "measure this computer instead: period jitter, latency and lost messages of a control loop, and the safe gains"
    )
    parser.add_argument("--computer", action="store_true", help=text)
    text = "rate of the states, with --computer [Hz] (default: %(default)g)"
    parser.add_argument("--rate", type=float, default=RATE, metavar="HZ", help=text)
    text = "how long, with --computer [s] (default: %(default)g)"
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="SECONDS", help=text)
    parser.add_argument("--dynamics", default="rnea", metavar="NAME", help="dynamics plugin")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="runs that a median is taken of")
    parser.add_argument("--json", action="store_true", help="figures for a script, in [µs] and [s]")


def run(args: Namespace) -> ExitCode:
    """Measure and show; the answer is no if a measured computer is not good enough.

    Raises:
        InputError: the arm is missing, or an option is out of range.
    """
    if args.computer:
        return judge_computer(args)
    if args.urdf is None:
        raise InputError("urdf", "the arm is missing; `robodyn bench --computer` needs none", args.urdf)
    if args.rounds < 1:
        raise InputError("--rounds", "must be at least 1", args.rounds)
    need_casadi()  # the first start, from an empty cache, is measured too
    robot = read_arm(args)
    with waiting(f"measuring {robot.name}"):
        found = measure(robot, args.dynamics, args.rounds)
    if args.json:
        print_json({"robot": robot.name, "joints": robot.n, "dynamics": args.dynamics, **found})
        return ExitCode.YES
    out = console()
    out.print(_call_table(f"{robot.name}, {args.dynamics}: one call [µs]", found["calls"]))
    batch, rollout, first = found["batch"], found["rollout"], found["first"]
    out.print(f"\n{BATCH:,} states of inverse dynamics: {_list(batch, lambda time: BATCH / time, ' million/s')}")
    out.print(f"1 s of RK4 at 1 kHz: {_list(rollout, lambda time: time / 1e3, ' ms')}")
    warm, cold = first["warm"], first["cold"]
    out.print(
        f"URDF to first effort: {warm:.2f} s; with nothing compiled yet {cold:.2f} s; import {first['import']:.2f} s"
    )
    return ExitCode.YES


def judge_computer(args: Namespace) -> ExitCode:
    """Measure this computer, and show the rates and gains that are safe on it.

    Raises:
        InputError: the rate or the duration is out of range.
    """
    for option, value in (("--rate", args.rate), ("--seconds", args.seconds)):
        if not 0.0 < value <= 1e5:
            raise InputError(option, f"must be above 0 and at most 1e5, not {value:g}", value)
    robot = load_robot(str(find("urdf/prr.urdf"))) if args.urdf is None else read_arm(args)
    with waiting(f"measuring this computer for {args.seconds:g} s"):
        timing = computer.measure(args.rate, args.seconds, robot)
    enough = computer.is_enough(timing)
    rates = sorted({*computer.RATES, args.rate})
    allowed = [computer.allowance(timing, rate) for rate in rates]
    if args.json:
        figures = {
            "rate": timing.rate,
            "scheduling": timing.scheduling,
            "states": len(timing.late),
            "lost": timing.lost,
            "late": _spread(timing.late),
            "latency": _spread(timing.latency),
            "rates": [one._asdict() for one in allowed],
            "enough": enough,
            "verdict": computer.verdict(timing),
        }
        print_json(figures)
        return ExitCode.YES if enough else ExitCode.NO
    out = console()
    out.print(_timing_table(timing), _allowance_table(allowed))
    text = (
        f"{timing.lost:,} of {len(timing.late):,} states lost; {timing.scheduling} priority; no middleware in between"
    )
    out.print(text)
    out.print(Text(computer.verdict(timing), "bold green" if enough else "bold yellow"))
    return ExitCode.YES if enough else ExitCode.NO


def _spread(times: np.ndarray[Any, Any]) -> dict[str, float | None]:
    """Median, 99.9 % and greatest of times [s]; None where there are none."""
    known = times[~np.isnan(times)]
    if not len(known):
        return dict.fromkeys(("median", "most", "greatest"))
    return {"median": float(np.median(known)), "most": float(np.quantile(known, 0.999)), "greatest": float(known.max())}


def _timing_table(timing: Timing) -> Table:
    rows = [
        (name, *("none" if value is None else f"{1e3 * value:.3f}" for value in _spread(times).values()))
        for name, times in (("a state is late by", timing.late), ("an effort comes after", timing.latency))
    ]
    return simple_table(("[ms]", "half", "99.9 %", "greatest"), rows, title=f"At {timing.rate:g} Hz")


def _allowance_table(allowed: Sequence[Allowance]) -> Table:
    default = JointGains().natural_frequency
    rows = []
    for one in allowed:
        frequency = f"{one.frequency:.0f} rad/s" if one.keeps else "the rate is not kept"
        rows.append((f"{one.rate:g} Hz", frequency, "yes" if one.frequency >= default else "no"))
    heads = ("rate of the states", "natural frequency up to", f"default gains, {default:g} rad/s")
    return simple_table(heads, rows, title="Safe gains")


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
        timed["Python on Pinocchio"] = (
            "f(a)",
            {"f": in_python, "a": lambda a, b: pinocchio.aba(model, data, a, b, zero)},
        )
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
    statements = {
        "inverse": ("f(m, d, q, v, u)", pinocchio.rnea),
        "forward": ("f(m, d, q, v, u)", pinocchio.aba),
        "mass_matrix": ("f(m, d, q)", pinocchio.crba),
        "gravity": ("f(m, d, q)", pinocchio.computeGeneralizedGravity),
    }
    return {quantity: (call, names | {"f": function}) for quantity, (call, function) in statements.items()}


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
    three, one = "f(q, q, q)", "f(q)"
    return {
        "inverse": (three, {"f": robot.rne, "q": q}),
        "forward": (three, {"f": robot.accel, "q": q}),
        "mass_matrix": (one, {"f": robot.inertia, "q": q}),
        "gravity": (one, {"f": robot.gravload, "q": q}),
    }


OTHERS = {"Pinocchio": pinocchio_calls, "MuJoCo": mujoco_calls, "Robotics Toolbox": toolbox_calls}
"""Library → its calls for an arm's URDF, none if it is not installed or cannot read the arm."""


def _without_meshes(xml: str) -> str:
    return re.sub(r"<(visual|collision)\b[^>]*(?<!/)>.*?</\1>", "", xml, flags=re.DOTALL)


def _list(times: dict[str, float], value: Callable[[float], float], unit: str) -> str:
    """Format our figure, and those of the others in brackets."""
    others = [f"{name} {value(time):.3g}{unit}" for name, time in times.items() if name != "ours"]
    return f"{value(times['ours']):.3g}{unit}" + (f" ({', '.join(others)})" if others else "")


def _call_table(title: str, calls: dict[str, dict[str, float]]) -> Table:
    present = [name for name in OTHERS if any(name in times for times in calls.values())]
    columns = [name for name in ("in place", "plain") if name in calls["inverse"]] + present
    rows = [
        (quantity, *(f"{times[name]:.3f}" if name in times else "" for name in columns))
        for quantity, times in calls.items()
    ]
    return simple_table(("quantity", *columns), rows, title=title)
