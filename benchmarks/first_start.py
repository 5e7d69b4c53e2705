# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How long a first start takes: from an empty cache to a control loop that is ready, as the controller node makes it.

    make bench-start                                         PRR, UR5, Panda, two Pandas, a humanoid
    make bench-start BENCH="--arms panda --laws all"         all laws of one arm
    make bench-start BENCH=--json                            the same for machines

Each start is a process of its own with a cache of its own; shown is the median of ``--repeat`` starts. The time begins
when Python and the URDF are loaded, and ends when the loop in C, its thread and the planner of motions to a pose are
ready. Beside it stands what is in it: Python that writes expressions, Python that writes C, the compiler (the sum over
all its calls, which run side by side), and Python that loads libraries. All that needs idle processors; the last
columns do so less, the time of the processor in this process and in the compiler.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from common import arms, options, report, urdfs

ARMS = ("prr", "ur5", "panda", "two pandas", "humanoid")
LAWS = ("computed_torque", "cartesian_impedance")


def known_arms() -> dict[str, str]:
    """Name → URDF; those of the package example-robot-data where it is installed."""
    found = arms()
    if "panda" in found:
        body = re.search(r"<robot[^>]*>(.*)</robot>", found["panda"], re.DOTALL).group(1)  # type: ignore[union-attr]
        both = [_mounted(re.sub(r'(name|link)="panda_', rf'\1="{side}_', body), side, y) for side, y in SIDES.items()]
        found["two pandas"] = f'<robot name="two_pandas"><link name="base"/>{"".join(both)}</robot>'
        found["humanoid"] = urdfs()["talos_reduced"].read_text(encoding="utf-8")
    return found


SIDES = {"left": 0.3, "right": -0.3}
"""Arm → where it stands [m]."""


def _mounted(body: str, side: str, y: float) -> str:
    origin = f'<parent link="base"/><child link="{side}_link0"/><origin xyz="0 {y} 0"/>'
    return f'{body}<joint name="{side}_mount" type="fixed">{origin}</joint>'


class Meter:
    """Adds up the time in functions; what one of them spends in another one counts for that alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._within = [0.0]

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, measured."""

        def measured(*args: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            self._within.append(0.0)
            try:
                return function(*args, **options)
            finally:
                spent = time.perf_counter() - begin
                self.seconds[name] = self.seconds.get(name, 0.0) + spent - self._within.pop()
                self.calls[name] = self.calls.get(name, 0) + 1
                self._within[-1] += spent

        return measured


def start(urdf: str, law: str) -> dict[str, float]:
    """Times of a start in this process [s]."""
    import robodyn_ros as rd
    from robodyn_ros.cli.compile import RUNNER
    from robodyn_ros.control.core_library import caller_library, start_core
    from robodyn_ros.control.core_settings import start_model
    from robodyn_ros.control.faults.dry_run import check_model
    from robodyn_ros.control.loop import ControlLoop
    from robodyn_ros.control.loop_settings import loop_default_values, make_loop_settings
    from robodyn_ros.control.motion.own_motions import ToolMotion, start_tool_motion
    from robodyn_ros.control.parameter_file import FileParameters
    from robodyn_ros.engine import codegen, kernel, library
    from robodyn_ros.engine.program import Program
    from robodyn_ros.robot.robot import tip

    python, compiler = Meter(), Meter()
    Program.function = python.wrapped("expressions", Program.function)  # type: ignore[method-assign]
    codegen.Statements = python.wrapped("C code", codegen.Statements)  # type: ignore[misc]
    codegen._functions = python.wrapped("C code", codegen._functions)
    library.Compiler.compile = compiler.wrapped("compiler", library.Compiler.compile)  # type: ignore[method-assign]
    library.load_library = python.wrapped("loading", library.load_library)
    kernel.bound_function = python.wrapped("loading", kernel.bound_function)
    robot = rd.load_robot(urdf, accept=["movable_base", "repaired_inertia"])
    begin, used = time.perf_counter(), _processor()
    start_core(robot.n, RUNNER)
    dynamics = rd.create_dynamics("rnea", robot)
    start_model(dynamics)
    check_model(dynamics)
    start_tool_motion(robot, tip(robot))
    ControlLoop.from_settings(make_loop_settings(FileParameters({}, loop_default_values(robot)), dynamics, law))
    ToolMotion(robot, tip(robot))
    caller_library(robot.n, RUNNER)
    whole = time.perf_counter() - begin
    seconds = python.seconds | compiler.seconds
    seconds |= {name: after - used[name] for name, after in _processor().items()}
    return {"whole": whole, **seconds, "calls": compiler.calls.get("compiler", 0)}


def _processor() -> dict[str, float]:
    """Time of the processor in this process and in those that it waited for [s]."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"processor": own.ru_utime + own.ru_stime, "of the compiler": children.ru_utime + children.ru_stime}


COLUMNS = ("whole", "expressions", "C code", "compiler", "loading", "processor", "of the compiler", "calls")


def measure(arm: str, law: str, repeat: int) -> dict[str, float]:
    """Medians over some starts, each in a process of its own with an empty cache."""
    rows = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="robodyn-") as folder:
            command = [sys.executable, __file__, "--one", "--arms", arm, "--laws", law]
            environment = os.environ | {"XDG_CACHE_HOME": folder}
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            rows.append(json.loads(done.stdout))
    return {name: statistics.median(row.get(name, 0.0) for row in rows) for name in COLUMNS}


def main() -> None:
    """Measure each arm and law, and print the table."""
    parser = options(__doc__)
    parser.add_argument("--arms", nargs="+", default=ARMS, choices=ARMS)
    parser.add_argument("--laws", nargs="+", default=LAWS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    known = known_arms()
    if args.one:
        print(json.dumps(start(known[args.arms[0]], args.laws[0])))
        return
    from robodyn_ros.plugins import available

    laws = available("controllers") if "all" in args.laws else args.laws
    pairs = [(arm, law) for arm in args.arms if arm in known for law in laws]
    rows = [{"arm": arm, "law": law, **measure(arm, law, args.repeat)} for arm, law in pairs]
    report({"A first start, times in [s]": rows}, args.json)


if __name__ == "__main__":
    main()
