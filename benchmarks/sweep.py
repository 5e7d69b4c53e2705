# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: how fast, on how many workers, at what price, in how much memory, and whatever dies on the way.

    make bench-sweep     10,000 rollouts, one worker and two, and the price of the engine
    python benchmarks/sweep.py --laws                what each traced law costs, beside computed torque
    make soak-sweep      memory of the coordinator from 1,000 to 100,000 cases; a Dask cluster whose parts die, join
                         late and run on two hosts (network namespaces, which need root)

The study is examples/robustness/prr.yaml: 5 s at 1 kHz of the PRR arm, control and states at 1 kHz too, with friction,
noise, coarse encoders, delays, lost states and an unknown payload.
"""

from __future__ import annotations

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
from typing import Any

from common import in_turns, options, report

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


def swept(study: Study, backend: Backend) -> str:
    """Run it, and give back what tells results apart."""
    with TemporaryDirectory() as folder:
        return hashlib.sha256(sweep(study, Path(folder) / "out", backend).read_bytes()).hexdigest()


def plain(study: Study) -> None:
    """The loop that anybody would write."""
    runner = CaseRunner(study)
    for case in study.cases(0, study.size):
        runner.row(case)


def speed(count: int, part: int, repeats: int) -> dict[str, list[dict[str, Any]]]:
    """The whole, and what it costs."""
    study = cases(part)
    with Workers(1) as one, Workers(2) as two:
        digests = {swept(study, backend) for backend in (in_process, one, two)}
        ways: dict[str, Callable[[], object]] = {
            "plain loop": lambda: plain(study),
            "engine, this process": lambda: swept(study, in_process),
            "engine, 1 worker": lambda: swept(study, one),
            "engine, 2 workers": lambda: swept(study, two),
        }
        found = {name: statistics.median(taken) / part for name, taken in in_turns(ways, repeats).items()}
    rows = [
        {"way": name, "ms a case": 1e3 * seconds, "times as fast as the plain loop": found["plain loop"] / seconds}
        for name, seconds in found.items()
    ]
    study = cases(count)
    with TemporaryDirectory() as folder, Workers(2) as two:
        begin = time.perf_counter()
        file = sweep(study, Path(folder) / "out", two)
        seconds = time.perf_counter() - begin
        whole = {
            "rollouts on 2 workers": count,
            "time [s]": seconds,
            "million steps/s": count * study.duration / 1e-3 / seconds / 1e6,
            "compiled": int(column(file, "compiled").sum()),
            "1 worker / 2 workers": found["engine, 1 worker"] / found["engine, 2 workers"],
            "price of the engine [%]": 100.0 * (found["engine, 1 worker"] / found["plain loop"] - 1.0),
            "bit-identical in this process, on 1 and on 2 workers": len(digests) == 1,
        }
    return {"Ways": rows, "All": [whole]}


def laws(count: int, repeats: int) -> list[dict[str, Any]]:
    """Time of a case under each law that runs in C, in turns."""
    study, rows = cases(count), []
    names = [name for name in available("controllers") if name != "mpc"]
    found = in_turns({name: partial(plain, replace(study, controllers=(name,))) for name in names}, repeats)
    for name, values in found.items():
        seconds, own = statistics.median(values), replace(study, controllers=(name,))
        with TemporaryDirectory() as folder:
            share = column(sweep(own, Path(folder) / "out", in_process), "compiled").mean()
        row = {"law": name, "ms a case": 1e3 * seconds / count, "compiled [%]": 100 * float(share)}
        rows.append(row | {"of computed torque": seconds / statistics.median(found["computed_torque"])})
    return rows


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
    parser = options(__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--part", type=int, default=1000, help="cases of a run that is compared with others")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, nargs="*", help="measure memory instead, for these numbers of cases")
    parser.add_argument("--cluster", type=int, metavar="CASES", help="a Dask cluster whose parts die, instead")
    parser.add_argument("--laws", action="store_true", help="what each law costs, instead; of --part cases")
    args = parser.parse_args()
    if args.memory is not None:
        memory(args.memory or [1000, 10_000, 100_000])
    elif args.laws:
        report({"Laws": laws(args.part, args.repeats)}, args.json)
    elif args.cluster:
        from sweep_cluster import survive, two_hosts

        study = cases(args.cluster)
        survive(study, swept(study, in_process if (os.cpu_count() or 1) < 2 else Workers(2)))
        two_hosts(study)
    else:
        report(speed(args.cases, args.part, args.repeats), args.json)


if __name__ == "__main__":
    main()
