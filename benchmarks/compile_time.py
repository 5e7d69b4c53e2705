# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How long it takes to write and compile the equations of arms of 7 to 40 joints, and in how much memory.

    python benchmarks/compile_time.py                     both plugins, what control and simulation need
    python benchmarks/compile_time.py --joints 40 --of coriolis_matrix

The arms are chains drawn at random, with an empty cache. Times are those of the processor, not of the clock: of this
process, which writes the expressions and the C code, and of the compiler. Memory is the greatest of the two.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import robodyn_ros as rd

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

JOINTS = (7, 15, 30, 40)

PLUGINS = ("lagrangian", "rnea")

QUANTITIES = ("inverse", "mass_matrix", "gravity", "forward", "terms", "coriolis_matrix")


def measure(joints: int, plugin: str, quantity: str) -> str:
    """One line of the table; this process has the peak of its memory to itself."""
    from arms import random_robot

    dynamics = rd.create_dynamics(plugin, rd.load_robot(random_robot(3, joints=joints, branching=0.0)))
    own, compiler = (resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    program = dynamics.program(quantity)
    dynamics.kernel(quantity).call(*(np.full(width, 0.1) for _, width in program.inputs))
    here, there = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    written, compiled = here.ru_utime - own, there.ru_utime - compiler
    memory = max(here.ru_maxrss, there.ru_maxrss) / 1024
    whole = written + compiled
    return f"| {joints} | {plugin} | {quantity} | {written:.1f} | {compiled:.1f} | {whole:.1f} | {memory:.0f} |"


def main() -> None:
    """Measure each in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joints", type=int, nargs="+", default=JOINTS)
    parser.add_argument("--plugins", nargs="+", default=PLUGINS)
    parser.add_argument("--of", nargs="+", default=QUANTITIES, metavar="QUANTITY")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(measure(args.joints[0], args.plugins[0], args.of[0]))
        return
    print("| joints | plugin | quantity | written [s] | compiled [s] | together [s] | memory [MB] |")
    print("|" + "---|" * 7, flush=True)
    for plugin in args.plugins:
        for joints in args.joints:
            for quantity in args.of:
                with tempfile.TemporaryDirectory(prefix="robodyn-") as folder:
                    given = ("--joints", str(joints), "--plugins", plugin, "--of", quantity, "--one")
                    environment = os.environ | {"XDG_CACHE_HOME": folder}
                    subprocess.run([sys.executable, __file__, *given], env=environment, check=True)


if __name__ == "__main__":
    main()
