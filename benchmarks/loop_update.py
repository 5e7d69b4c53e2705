# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One period of the control loop: ``ControlLoop.update`` from Python, and ``core_update`` in C.

    make bench-loop                   the PRR arm and the Panda, computed torque, hot
    make bench-loop BENCH="--laws adaptive cartesian_impedance"   other laws, the Panda in C
    make bench-loop BENCH=--json      the same for machines

Each is measured in many short batches, in turns with a yardstick: a fixed loop of pure Python, which says how fast the
machine is in that moment. Times are of the processor, so another program delays none. The least is what the code
takes; the median is what a machine with other work gives it.
"""

import ctypes
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import arms, options, report

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop
from robodyn_ros.control.core_library import core_library
from robodyn_ros.control.loop_settings import loop_default_values, make_loop_settings
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.robot.pose import Array

URDFS = arms()
CODE = Path(__file__).with_suffix(".c")
BATCH = 200
"""Updates in a batch from Python: less than a millisecond."""
PERIOD = 0.001
"""Between two states [s]."""


def yardstick() -> float:
    """Processor time of 1,000 turns of a loop of pure Python, each [s]."""
    begin = time.thread_time()
    total = 0
    for number in range(1000):
        total += number
    return (time.thread_time() - begin) / 1000


def from_python(loop: ControlLoop, q: Array) -> Callable[[], float]:
    """Measures a batch: processor time of an update [s]."""
    qd, t = np.zeros_like(q), 1.0

    def batch() -> float:
        nonlocal t
        begin = time.thread_time()
        for _ in range(BATCH):
            t += PERIOD
            loop.update(t, t, q, qd)
        return (time.thread_time() - begin) / BATCH

    return batch


def in_c(loop: ControlLoop, q: Array) -> Callable[[], float]:
    """The same in C."""
    loop.update(1.0, 1.0, q, np.zeros_like(q))
    core, library = loop.core, core_library(loop.robot.n, CODE)
    loop.release(core.request)  # which judges the rate of the states by itself
    core.period.q[:], core.period.qd[:], core.period.t[...] = q, 0.0, 1.0
    library.time_updates.restype = ctypes.c_double
    count, period = ctypes.c_int64(10 * BATCH), ctypes.c_double(PERIOD)

    def batch() -> float:
        seconds = float(library.time_updates(ctypes.c_void_p(core.address), count, period))
        if seconds < 0.0:
            raise SystemExit("an update in C gave no effort")
        return seconds / (10 * BATCH)

    return batch


def ways(laws: list[str]) -> dict[str, Callable[[], float]]:
    """Name → what measures a batch: both arms and both languages, or some laws in C."""
    found: dict[str, Callable[[], float]] = {}
    for name in () if laws else ("prr", "panda"):
        robot = rd.load_robot(URDFS[name])
        for way, make in (("Python", from_python), ("C", in_c)):
            law = ComputedTorque(rd.create_dynamics("rnea", robot), 100.0, 20.0)
            found[f"{name}, {way}"] = make(ControlLoop(law, robot.effort_limit), robot.home + 0.1)
    for law in laws:
        robot = rd.load_robot(URDFS["panda"])
        values = FileParameters({}, loop_default_values(robot))
        settings = make_loop_settings(values, rd.create_dynamics("rnea", robot), law)
        found[f"panda, {law}"] = in_c(ControlLoop.from_settings(settings), robot.home + 0.1)
    return found


def measure(batches: int, laws: list[str]) -> list[dict[str, Any]]:
    """Least and median time of an update [µs], the yardstick's [ns] beside them."""
    measured = ways(laws)
    # The first turn fills caches, and ends the ramp.
    turns = [[(batch(), yardstick()) for batch in measured.values()] for _ in range(batches)][1:]
    return [
        {
            "update": name, "least [µs]": 1e6 * min(values), "median [µs]": 1e6 * statistics.median(values),
            "yardstick, least [ns]": 1e9 * min(yards), "yardstick, median [ns]": 1e9 * statistics.median(yards),
            "update / turn of the yardstick": min(values) / min(yards),
        }
        for name, (values, yards) in zip(measured, np.transpose(turns, (1, 2, 0)).tolist(), strict=True)
    ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--batches", type=int, default=1000, help="of each way, in turns")
    parser.add_argument("--laws", nargs="+", default=[], help="of the Panda in C, instead")
    args = parser.parse_args()
    report({"A period of the control loop": measure(args.batches, args.laws)}, args.json)


if __name__ == "__main__":
    main()
