# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How fast motions are optimised: the law ``mpc`` in closed loop, and iLQR beside Crocoddyl on the same problems.

    make bench-mpc             a table
    make bench-mpc BENCH=--json

Crocoddyl (``pip install crocoddyl``) is a row where it is installed. Its problem is ours to the last term: the same
URDF, Runge-Kutta steps, efforts held over a step, effort limits, costs and first guess; so the costs it ends with can
be compared, but for the minimum that each comes to. Every time is the median of several solutions, taken in turn.
"""

from __future__ import annotations

import re
import statistics
import time
from typing import Any

import numpy as np
from common import PRR, ROOT, arms, options, percentiles, report
from crocoddyl_problem import Crocoddyl

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, Reference, gains, rest_to_rest
from robodyn_ros.planning.cost import Effort, Tracking
from robodyn_ros.planning.ddp.ilqr import ILQR, ILQRSettings
from robodyn_ros.planning.mpc import MPC, MPCSettings
from robodyn_ros.simulation import Plant, PlantSettings
from robodyn_ros.simulation.rollout import simulate

ITERATIONS = 300
"""At most."""

RATE = 500.0  # of the states [Hz]
POSES = [[0.3, 0.0, 0.0], [0.3, -1.83, -0.12], [0.5, -1.83, 1.5], [0.2, -1.0, 0.0], [0.6, 1.2, 0.0], [0.3, 0.0, 0.0]]


def closed_loop(leg: float, laps: int) -> dict[str, Any]:
    """The law in a simulation of the PRR arm through its poses; each leg takes so long [s]."""
    dynamics, none = rd.create_dynamics("rnea", rd.load_robot(PRR)), np.zeros(3)
    poses = POSES[:1] + POSES[1:] * laps
    trajectory = rest_to_rest(poses, np.arange(len(poses)) * leg)
    law = MPC(dynamics, *gains(ComputedTorque, dynamics, none, 12.0, 1.0), config=MPCSettings(budget=10.0))
    law.solve_times = type(law.solve_times)()
    busy: list[float] = []
    advance = law.advance

    def measured(*given: Any) -> None:
        began = time.process_time()
        before = len(law.solve_times)
        advance(*given)
        if len(law.solve_times) > before:
            busy.append(time.process_time() - began)

    law.advance = measured  # type: ignore[method-assign]
    plant = Plant(dynamics, PlantSettings(step=1.0 / RATE), q0=poses[0])
    run = simulate(plant, law, lambda t: Reference(*trajectory.sample(t), none), trajectory.duration)
    error = np.sqrt(np.mean((run.q - run.reference) ** 2, axis=0))
    saturated = np.mean(np.abs(run.effort) > 0.999 * plant.effort_limit)
    return {
        "leg [s]": leg,
        "solutions": len(law.solve_times),
        "efforts at a limit [%]": 100.0 * float(saturated),
        "RMS error": error.tolist(),
        "solve time [ms]": percentiles(law.solve_times),
        "of it on the processor [ms]": percentiles(busy),
    }


def problems() -> dict[str, tuple[str, Any, Any, Any, float, int, Any]]:
    """Name → URDF, start, goal, weights of the end, duration, steps, effort limit."""
    prr, two = ((ROOT / f"urdf/{name}.urdf").read_text(encoding="utf-8") for name in ("prr", "two_link"))
    # Pinocchio takes a continuous joint for a point on the circle; here the joints are angles.
    turned = '<limit lower="-99" upper="99" velocity="99" effort="99"/></joint>'
    two = re.sub('"continuous"(.*?)</joint>', rf'"revolute"\1{turned}', two, flags=re.DOTALL)
    found: dict[str, tuple[str, Any, Any, Any, float, int, Any]] = {
        "PRR, HOME to PICK in 0.6 s": (
            *(prr, np.zeros(6), [0.3, -1.83, -0.12, 0, 0, 0], [1e5] * 3 + [1e3] * 3),
            *(0.6, 60, [600.0, 96.0, 36.0]),
        ),
        "two-link, swing-up in 2 s": (
            *(two, [-np.pi / 2, 0, 0, 0], [np.pi / 2, 0, 0, 0], [1e4] * 2 + [1e3] * 2),
            *(2.0, 100, [15.0, 7.0]),
        ),
    }
    if "panda" not in (known := arms()):
        return found
    start = np.concatenate(([0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8], np.zeros(7)))
    goal = np.concatenate(([1.2, 0.3, -0.4, -1.5, 0.5, 2.2, -0.3], np.zeros(7)))
    limit = [87.0] * 4 + [12.0] * 3
    found["Panda, reach in 0.6 s"] = (
        *(known["panda"], start, goal, [1e4] * 7 + [1e2] * 7),
        *(0.6, 60, limit),
    )
    return found


def beside_crocoddyl(repeats: int) -> tuple[list[dict[str, Any]], str]:
    """Each problem by each solver, and which Crocoddyl that was."""
    found, version = [], ""
    for name, (urdf, start, goal, weights, duration, steps, limit) in problems().items():
        dynamics = rd.create_dynamics("rnea", rd.load_robot(urdf))
        guess = np.tile(dynamics.gravity(np.asarray(start)[: dynamics.robot.n]), (steps, 1))
        guess = np.clip(guess, -np.asarray(limit), limit)
        cost = 0.5 * Effort() + 0.5 * Tracking(goal, np.zeros(len(start)), QT=weights)
        solver = ILQR(dynamics, cost, steps, ILQRSettings(iterations=ITERATIONS))
        theirs: Crocoddyl | None = None
        try:
            theirs = Crocoddyl(urdf, start, goal, weights, duration, steps, limit)
            version = theirs.version
        except ImportError:
            pass
        results: dict[str, list[tuple[list[float], float]]] = {}
        for _ in range(repeats + 1):
            ours = solver.solve(start, duration, guess=guess, effort_limit=limit)
            results.setdefault("iLQR", []).append((ours.history[1:].tolist(), ours.solve_time))
            for kind in ("BoxDDP", "BoxFDDP") if theirs is not None else ():
                assert theirs is not None
                results.setdefault(f"Crocoddyl {kind}", []).append(theirs.solve(kind, guess, ITERATIONS))
        good = 1.01 * min(min(costs) for runs in results.values() for costs, _ in runs)
        for kind, runs in results.items():
            taken, costs = 1e3 * statistics.median(seconds for _, seconds in runs[1:]), runs[-1][0]
            soon = next((index + 1 for index, cost in enumerate(costs) if cost <= good), None)
            row = {"problem": name, "solver": kind, "time [ms]": taken, "iterations": len(costs)}
            row |= {"ms an iteration": taken / len(costs), "cost": costs[-1]}
            found.append(row | {"ms to 1 % of the best": None if soon is None else taken * soon / len(costs)})
    return found, version


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="solutions of each problem (default: %(default)s)")
    parser.add_argument("--laps", type=int, default=10, help="laps of the closed loop (default: %(default)s)")
    args = parser.parse_args()
    loops = [closed_loop(leg, args.laps) for leg in (0.6, 0.4)]
    solved, version = beside_crocoddyl(args.repeats)
    title = (
        f"Beside Crocoddyl {version}, one thread" if version else "Crocoddyl is not installed: pip install crocoddyl"
    )
    report({"mpc, PRR arm at 500 Hz, solved at 100 Hz": loops, title: solved}, args.json)


if __name__ == "__main__":
    main()
