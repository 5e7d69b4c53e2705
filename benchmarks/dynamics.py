"""The dynamics engine beside Pinocchio, on the same arms in the same run; MuJoCo and the Robotics Toolbox (``pip
install roboticstoolbox-python``) join where they are installed.

    make bench            a table
    make bench BENCH=--json

Every figure is the median of many short runs, taken in turn (ours, theirs, ours, …), so that a machine that changes its
speed changes both. A ratio below 1 means that ours takes less time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pinocchio
from others import mujoco_calls, toolbox_calls
from rich.console import Console
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.assets import find
from robodyn_ros.simulation.rk4 import rk4_step
from robodyn_ros.simulation.rollouts import rollout

BATCH = 100_000
STEPS = 1000
RUN = 2e-3  # [s] that a run takes about, so that the clock's own time does not count
TEXTBOOK = {"lagrangian": 66_000, "rnea": 852}  # multiplications, six joints: the course's figures
FORMULATIONS = ("rnea", "lagrangian")


def arms() -> dict[str, str]:
    """Name → URDF; the industrial ones where the package example-robot-data is installed."""
    found = {name: find(f"urdf/{name}.urdf").read_text() for name in ("prr", "rr")}
    for prefix in sys.path:
        models = Path(prefix, "cmeel.prefix", "share", "example-robot-data", "robots")
        if models.is_dir():
            found["ur5"] = (models / "ur_description/urdf/ur5_robot.urdf").read_text()
            panda = (models / "panda_description/urdf/panda.urdf").read_text()
            # The arm of the literature: seven joints, the fingers welded.
            panda = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', panda)
            found["panda"] = re.sub(r"<mimic[^>]*>", "", panda)
            break
    return found


def race(entrants: dict[str, tuple[str, dict[str, Any]]], rounds: int) -> dict[str, float]:
    """Median time of one call of each [µs], the entrants taking turns; a statement and its names each."""
    timers = {name: timeit.Timer(statement, globals=names) for name, (statement, names) in entrants.items()}
    times: dict[str, list[float]] = {name: [] for name in entrants}
    calls: dict[str, int] = {}
    for name, timer in timers.items():
        timer.timeit(1)
        calls[name] = max(1, int(10 * RUN / timer.timeit(10)))
    for _ in range(rounds):
        for name, timer in timers.items():
            times[name].append(timer.timeit(calls[name]) / calls[name] * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def single_calls(robot: rd.Robot, xml: str, rounds: int) -> dict[str, dict[str, float]]:
    """One state at a time, plain and in place, beside the others."""
    model = pinocchio.buildModelFromXML(xml)
    data = model.createData()
    rng = np.random.default_rng(1)
    q, qd, x = rng.uniform(-1, 1, (3, robot.n))
    full, v, u = pinocchio.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)), qd.copy(), x.copy()
    theirs = {
        "inverse": ("f(m, d, q, v, u)", pinocchio.rnea),
        "forward": ("f(m, d, q, v, u)", pinocchio.aba),
        "mass_matrix": ("f(m, d, q)", pinocchio.crba),
        "gravity": ("f(m, d, q)", pinocchio.computeGeneralizedGravity),
    }
    dynamics = rd.create_dynamics("rnea", robot)
    values = {"inverse": (q, qd, x), "forward": (q, qd, x), "mass_matrix": (q,), "gravity": (q,)}
    others = {"mujoco": mujoco_calls(xml), "toolbox": toolbox_calls(xml)}
    results = {}
    for quantity, given in values.items():
        kernel = dynamics.kernel(quantity)
        for own, value in zip(kernel.inputs, given, strict=True):
            own[:] = value
        statement, function = theirs[quantity]
        plain = {"f": getattr(dynamics, quantity), "q": q, "qd": qd, "x": x}
        entrants = {
            "in place": ("f()", {"f": kernel.evaluate}),
            "plain": ("f(q, qd, x)" if len(given) == 3 else "f(q)", plain),
            "pinocchio": (statement, {"f": function, "m": model, "d": data, "q": full, "v": v, "u": u}),
        }
        entrants |= {name: calls[quantity] for name, calls in others.items() if quantity in calls}
        results[quantity] = with_ratios(race(entrants, rounds))
    return results


def many_states(robot: rd.Robot, xml: str, rounds: int) -> dict[str, float]:
    """Inverse dynamics of ``BATCH`` states, on as many threads each; both results are made anew."""
    threads = len(os.sched_getaffinity(0))
    dynamics = rd.create_dynamics("rnea", robot, threads=threads)
    rng = np.random.default_rng(2)
    states = rng.uniform(-1, 1, (3, BATCH, robot.n))
    model = pinocchio.buildModelFromXML(xml)
    pool = pinocchio.ModelPool(model, threads)
    full = np.asfortranarray(rng.uniform(-1, 1, (model.nq, BATCH)))
    rates = np.asfortranarray(rng.uniform(-1, 1, (model.nv, BATCH)))
    out = np.zeros((model.nv, BATCH), order="F")
    # One after the other, not in turns: OpenMP's threads go on spinning for a while after their work.
    ours = ("f(*states)", {"f": dynamics.inverse, "states": states})
    call = "f(threads, pool, q, v, v, out)"
    names = {"f": pinocchio.rneaInParallel, "threads": threads, "pool": pool, "q": full, "v": rates, "out": out}
    taken = race({"plain": ours}, rounds) | race({"pinocchio": (call, names)}, rounds)
    speeds = {f"{name} [10⁶/s]": BATCH / taken[name] for name in taken}
    return speeds | {"times faster": taken["pinocchio"] / taken["plain"], "threads": threads}


def one_second(robot: rd.Robot, rounds: int) -> dict[str, float]:
    """A second of passive motion by RK4 at 1 kHz: one compiled call, beside Python's RK4 on Pinocchio and on ours."""
    dynamics = rd.create_dynamics("rnea", robot)
    model = pinocchio.buildModelFromXML(robot.urdf)
    data = model.createData()
    q, zero = np.full(robot.n, 0.3), np.zeros(robot.n)
    if model.nq != robot.n:
        return {}

    def in_python(acceleration: Callable[..., Any]) -> None:
        position, rate = q, zero
        for _ in range(STEPS):
            position, rate = rk4_step(acceleration, position, rate, 1e-3)

    taken = race(
        {
            "compiled": ("f(d, q, z, z, 1e-3, n)", {"f": rollout, "d": dynamics, "q": q, "z": zero, "n": STEPS}),
            "python on pinocchio": ("f(a)", {"f": in_python, "a": lambda a, b: pinocchio.aba(model, data, a, b, zero)}),
            "python on ours": ("f(a)", {"f": in_python, "a": lambda a, b: dynamics.forward(a, b, zero)}),
        },
        max(5, rounds // 5),
    )
    return {f"{name} [ms]": value / 1e3 for name, value in taken.items()} | {
        "times faster": taken["python on pinocchio"] / taken["compiled"]
    }


def with_ratios(taken: dict[str, float]) -> dict[str, float]:
    """Beside the times in [µs], ours as a share of Pinocchio's."""
    return taken | {f"{name} / pinocchio": taken[name] / taken["pinocchio"] for name in ("in place", "plain")}


def operations(robot: rd.Robot) -> dict[str, dict[str, int]]:
    """Multiplications and additions of inverse dynamics, the arm's numbers being constants or all of them free."""
    counts = {}
    for name in FORMULATIONS:
        dynamics = rd.create_dynamics(name, robot)
        states = [ca.SX.sym(symbol, robot.n) for symbol in ("q", "qd", "qdd")]
        constant = ca.Function("constant", states, [ca.cse(dynamics.expressions("inverse", states)[0])])
        free = dynamics.program("inverse").function()
        counts[name] = {
            "multiplications": count(constant, ca.OP_MUL, ca.OP_SQ),
            "additions": count(constant, ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE),
            "multiplications, all parameters free": count(free, ca.OP_MUL, ca.OP_SQ),
            "additions, all parameters free": count(free, ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE),
        }
    return counts


def count(function: ca.Function, *kinds: int) -> int:
    """How many instructions of those kinds a function has."""
    return sum(function.instruction_id(k) in kinds for k in range(function.n_instructions()))


def first_call(xml: str) -> dict[str, float]:
    """Seconds from a URDF to its first torque in a process that has only just imported the package."""
    script = (
        "import sys, time; begin = time.perf_counter(); import numpy; numpy_done = time.perf_counter();"
        "import robodyn_ros as rd; imported = time.perf_counter(); z = None;"
        "robot = rd.load_robot(sys.argv[1]); z = numpy.zeros(robot.n);"
        "rd.create_dynamics('rnea', robot).inverse(z, z, z);"
        "print(imported - begin, time.perf_counter() - imported)"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arm.urdf")
        path.write_text(xml)
        taken = []
        for _ in range(2):
            environment = os.environ | {"XDG_CACHE_HOME": folder}
            command = [sys.executable, "-c", script, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            taken.append([float(part) for part in done.stdout.split()])
    return {"import [s]": taken[1][0], "cold [s]": taken[0][1], "warm [s]": taken[1][1]}


def measure(rounds: int) -> dict[str, Any]:
    """Everything, arm by arm."""
    results = {}
    for name, xml in arms().items():
        robot = rd.load_robot(xml)
        results[name] = {
            "joints": robot.n,
            "calls": single_calls(robot, robot.urdf, rounds),
            "batch": many_states(robot, robot.urdf, max(5, rounds // 5)),
            "rk4": one_second(robot, rounds),
            "operations": operations(robot),
            "first call": first_call(xml),
        }
    return results


def show(results: dict[str, Any], console: Console) -> None:
    """Four tables."""
    calls = Table(title="One call [µs, median]; in brackets the share of Pinocchio's time")
    for column in ("arm", "quantity", "in place", "plain", "Pinocchio", "MuJoCo", "Robotics Toolbox"):
        calls.add_column(column, justify="left" if column in {"arm", "quantity"} else "right")
    for arm, found in results.items():
        for quantity, t in found["calls"].items():
            ours = [f"{t[way]:.3f} ({t[f'{way} / pinocchio']:.2f})" for way in ("in place", "plain")]
            others = [f"{t[name]:.3f}" if name in t else "-" for name in ("pinocchio", "mujoco", "toolbox")]
            calls.add_row(arm, quantity, *ours, *others)
    console.print(calls)
    whole = Table(title=f"{BATCH:,} states of inverse dynamics, and 1 s of RK4 at 1 kHz")
    for column in ("arm", "10⁶ states/s", "Pinocchio", "faster", "RK4 [ms]", "Python's", "faster"):
        whole.add_column(column, justify="left" if column == "arm" else "right")
    for arm, found in results.items():
        b, r = found["batch"], found["rk4"]
        row = [f"{b['plain [10⁶/s]']:.1f}", f"{b['pinocchio [10⁶/s]']:.2f}", f"{b['times faster']:.0f}"]
        if r:
            row += [f"{r['compiled [ms]']:.2f}", f"{r['python on pinocchio [ms]']:.1f}", f"{r['times faster']:.0f}"]
        whole.add_row(arm, *row)
    console.print(whole)
    work = Table(title="Operations of inverse dynamics: multiplications / additions")
    for column in ("arm", "formulation", "numbers fixed", "all parameters free", "textbook, 6 joints"):
        work.add_column(column, justify="left" if column in {"arm", "formulation"} else "right")
    for arm, found in results.items():
        for name, n in found["operations"].items():
            free = [f"{n[f'{kind}, all parameters free']}" for kind in ("multiplications", "additions")]
            work.add_row(
                arm, name, f"{n['multiplications']} / {n['additions']}", " / ".join(free), f"{TEXTBOOK[name]:,}"
            )
    console.print(work)
    start = Table(title="From the URDF to the first torque [s]")
    for column in ("arm", "import", "cold", "warm"):
        start.add_column(column, justify="left" if column == "arm" else "right")
    for arm, found in results.items():
        start.add_row(arm, *(f"{found['first call'][f'{key} [s]']:.2f}" for key in ("import", "cold", "warm")))
    console.print(start)


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures for a script")
    parser.add_argument("--rounds", type=int, default=60, help="runs that a median is taken of")
    given = parser.parse_args()
    results = measure(given.rounds)
    if given.json:
        print(json.dumps(results, indent=1))
    else:
        show(results, Console(width=100 if not sys.stdout.isatty() else None))


if __name__ == "__main__":
    main()
