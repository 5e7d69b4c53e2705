# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: how fast, on how many workers, at what price, in how much memory, and whatever dies on the way.

    make bench-sweep     10,000 rollouts, one worker and two, and the price of the engine
    python benchmarks/sweep.py --laws                what each traced law costs, beside computed torque
    python benchmarks/sweep.py --against REVISION    10,000 rollouts, in turns with those of an earlier commit
    make soak-sweep      memory of the coordinator from 1,000 to 100,000 cases; a Dask cluster whose parts die, join
                         late and run on two hosts (network namespaces, which need root)

The study is examples/robustness/prr.yaml: 5 s at 1 kHz of the PRR arm, control and states at 1 kHz too, with friction,
noise, coarse encoders, delays, lost states and an unknown payload.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from robodyn_ros.plugins import available
from robodyn_ros.simulation.sweeps.backends import Backend, Workers, in_process
from robodyn_ros.simulation.sweeps.runner import CaseRunner
from robodyn_ros.simulation.sweeps.study import MotionSettings, Study
from robodyn_ros.simulation.sweeps.study_reader import read_study
from robodyn_ros.simulation.sweeps.sweep import column, sweep

STUDY = Path(__file__).parents[1] / "examples" / "robustness" / "prr.yaml"


def cases(count: int) -> Study:
    """The study with so many cases."""
    study = read_study(STUDY)
    return replace(study, sampling=replace(study.sampling, cases=count))


def timed(action: Callable[[], object]) -> float:
    """How long it takes [s]."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def swept(study: Study, backend: Backend) -> str:
    """Run it, and give back what tells results apart."""
    with TemporaryDirectory() as folder:
        return hashlib.sha256(sweep(study, Path(folder) / "out", backend).read_bytes()).hexdigest()


def plain(study: Study) -> None:
    """The loop that anybody would write."""
    runner = CaseRunner(study)
    for case in study.cases(0, study.size):
        runner.row(case)


def prices(count: int, repeats: int) -> dict[str, float]:
    """Seconds a case, each the median of some runs taken in turn."""
    study, found = cases(count), dict[str, list[float]]()
    with Workers(1) as one, Workers(2) as two:
        digests = {swept(study, backend) for backend in (in_process, one, two)}
        print(f"bit-identical in this process, on 1 and on 2 workers: {'yes' if len(digests) == 1 else 'NO'}")
        ways: dict[str, Callable[[], object]] = {
            "plain loop": lambda: plain(study),
            "engine, this process": lambda: swept(study, in_process),
            "engine, 1 worker": lambda: swept(study, one),
            "engine, 2 workers": lambda: swept(study, two),
        }
        for way in ways.values():
            way()  # starts processes, compiles
        for _ in range(repeats):
            for name, way in ways.items():
                found.setdefault(name, []).append(timed(way) / count)
    return {name: statistics.median(values) for name, values in found.items()}


def speed(count: int, part: int, repeats: int) -> None:
    """The whole, and what it costs."""
    found = prices(part, repeats)
    table = Table("Way", "ms a case", "of the plain loop")
    for name, seconds in found.items():
        table.add_row(name, f"{1e3 * seconds:.2f}", f"{found['plain loop'] / seconds:.2f} times as fast")
    console = Console(width=100)
    console.print(table)
    gain = found["engine, 1 worker"] / found["engine, 2 workers"]
    price = found["engine, 1 worker"] / found["plain loop"] - 1.0
    console.print(f"2 workers are {gain:.2f} times as fast as 1; the engine costs {100 * price:+.1f} %.")
    study = cases(count)
    with TemporaryDirectory() as folder, Workers(2) as two:
        begin = time.perf_counter()
        file = sweep(study, Path(folder) / "out", two)
        seconds = time.perf_counter() - begin
        compiled = int(column(file, "compiled").sum())
    steps = count * study.duration / 1e-3
    console.print(
        f"{count} rollouts of {study.duration:g} s on 2 workers: {seconds:.1f} s, {steps / seconds / 1e6:.2f} million "
        f"steps a second; {compiled} compiled."
    )


def laws(count: int, repeats: int) -> None:
    """Time of a case under each law that runs in C, in turns."""
    study, found = cases(count), dict[str, list[float]]()
    names = [name for name in available("controllers") if name != "mpc"]
    for turn in range(repeats + 1):
        for name in names:
            seconds = timed(partial(plain, replace(study, controllers=(name,)))) / count
            if turn:  # the first compiles
                found.setdefault(name, []).append(seconds)
    table = Table("Law", "ms a case", "of computed torque", "compiled")
    reference = statistics.median(found["computed_torque"])
    for name, values in found.items():
        seconds, own = statistics.median(values), replace(study, controllers=(name,))
        with TemporaryDirectory() as folder:
            share = column(sweep(own, Path(folder) / "out", in_process), "compiled").mean()
        table.add_row(name, f"{1e3 * seconds:.2f}", f"{seconds / reference:.2f}", f"{100 * share:.0f} %")
    Console(width=100).print(table)


AGAINST = """
import sys, time
sys.path.insert(0, "benchmarks")
import sweep as b
study = b.cases(int(sys.argv[1]))
with b.Workers(2) as two:
    b.swept(b.cases(20), two)
    begin = time.perf_counter()
    found = b.swept(study, two)
    print(time.perf_counter() - begin, found)
"""


def against(revision: str, count: int, turns: int) -> None:
    """Rollouts on 2 workers, of the present state and of an earlier commit, in turns; and whether results differ."""
    here = STUDY.parents[2]
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=here, check=True)
        try:
            # Its own entry points come before those of the installation.
            subprocess.run([sys.executable, "setup.py", "--quiet", "egg_info"], cwd=tree, check=True)
            seconds: dict[str, list[float]] = {"now": [], revision: []}
            digests: dict[str, set[str]] = {"now": set(), revision: set()}
            for _ in range(turns):
                for name, where in (("now", here), (revision, tree)):
                    command = [sys.executable, "-c", AGAINST, str(count // turns)]
                    environment = os.environ | {"PYTHONPATH": str(where)}
                    done = subprocess.run(
                        command, cwd=where, env=environment, stdout=subprocess.PIPE, text=True, check=True
                    )
                    took, digest = done.stdout.split()[-2:]
                    seconds[name].append(float(took))
                    digests[name].add(digest)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=here, check=True)
    for name, values in seconds.items():
        same = "the same results in each turn" if len(digests[name]) == 1 else "results that differ between turns"
        each = ", ".join(f"{value:.1f}" for value in values)
        print(f"{name:12} {count} rollouts: {sum(values):.1f} s ({each}); {same}")
    print(f"now / before: {sum(seconds['now']) / sum(seconds[revision]):.2f}")


def memory(counts: list[int]) -> None:
    """Greatest memory of a coordinator, for studies of different sizes."""
    for count in counts:
        code = (
            "import resource, sys; sys.path.insert(0, sys.argv[1]); import sweep as b\n"
            "b.short(int(sys.argv[2])); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        command = [sys.executable, "-c", code, str(Path(__file__).parent), str(count)]
        seconds, begin = 0.0, time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begin
        print(f"{count:7d} cases: {int(done.stdout.split()[-1]) / 1024:.1f} MiB at most, {seconds:.0f} s", flush=True)


def short(count: int) -> None:
    """So many cases of 50 ms on two workers: it is their number that counts."""
    study = replace(cases(count), motion=MotionSettings(0.04, 0.01, 0.01), poses=())
    with TemporaryDirectory() as folder, Workers(2) as two:
        file = sweep(study, Path(folder) / "out", two)
        assert column(file, "case").tolist() == list(range(count))


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--part", type=int, default=1000, help="cases of a run that is compared with others")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, nargs="*", help="measure memory instead, for these numbers of cases")
    parser.add_argument("--cluster", type=int, metavar="CASES", help="a Dask cluster whose parts die, instead")
    parser.add_argument("--laws", action="store_true", help="what each law costs, instead; of --part cases")
    parser.add_argument("--against", metavar="REVISION", help="in turns with an earlier commit, instead")
    args = parser.parse_args()
    if args.memory is not None:
        memory(args.memory or [1000, 10_000, 100_000])
    elif args.laws:
        laws(args.part, args.repeats)
    elif args.against:
        against(args.against, args.cases, args.repeats)
    elif args.cluster:
        from sweep_cluster import survive, two_hosts

        study = cases(args.cluster)
        survive(study, swept(study, in_process if (os.cpu_count() or 1) < 2 else Workers(2)))
        two_hosts(study)
    else:
        speed(args.cases, args.part, args.repeats)


if __name__ == "__main__":
    main()
