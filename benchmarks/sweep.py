# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: how fast, on how many workers, at what price, in how much memory, and whatever dies on the way.

    make bench-sweep     10,000 rollouts, one worker and two, and the price of the engine
    make soak-sweep      memory of the coordinator from 1,000 to 100,000 cases; a Dask cluster whose parts die and join
                         late

The study is examples/robustness/prr.yaml: 5 s at 1 kHz of the PRR arm, control and states at 1 kHz too, with friction,
noise, coarse encoders, delays, lost states and an unknown payload.
"""

import hashlib
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import in_turns, options, report

from robodyn_ros.simulation.sweeps.backends import Backend, Workers, cluster, in_process
from robodyn_ros.simulation.sweeps.runner import CaseRunner
from robodyn_ros.simulation.sweeps.study import MotionSettings, Study
from robodyn_ros.simulation.sweeps.study_reader import read_study
from robodyn_ros.simulation.sweeps.sweep import column, sweep

STUDY = Path(__file__).parents[1] / "examples" / "robustness" / "prr.yaml"
PORT = 18786
"""Of the Dask scheduler."""


def cases(count: int) -> Study:
    """The study with so many cases."""
    study = read_study(STUDY)
    return replace(study, sampling=replace(study.sampling, cases=count))


def swept(study: Study, backend: Backend, **given: Any) -> str:
    """Run it, see that every case is there once, and give back what tells results apart."""
    with TemporaryDirectory() as folder:
        file = sweep(study, Path(folder) / "out", backend, **given)
        assert column(file, "case").tolist() == list(range(study.size))
        return hashlib.sha256(file.read_bytes()).hexdigest()


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
        study, begin = cases(count), time.perf_counter()
        swept(study, two)
        seconds = time.perf_counter() - begin
    rows = [
        {"way": name, "ms a case": 1e3 * seconds, "times as fast as the plain loop": found["plain loop"] / seconds}
        for name, seconds in found.items()
    ]
    whole = {
        "rollouts on 2 workers": count,
        "time [s]": seconds,
        "million steps/s": count * study.duration / 1e-3 / seconds / 1e6,
        "1 worker / 2 workers": found["engine, 1 worker"] / found["engine, 2 workers"],
        "price of the engine [%]": 100.0 * (found["engine, 1 worker"] / found["plain loop"] - 1.0),
        "bit-identical in this process, on 1 and on 2 workers": len(digests) == 1,
    }
    return {"Ways": rows, "All": [whole]}


def memory(count: int) -> dict[str, float]:
    """Greatest memory of a coordinator, for so many cases of 50 ms on two workers: it is their number that counts."""
    code = "import resource, sweep as b; b.short(%d); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    begin, command = time.perf_counter(), [sys.executable, "-c", code % count]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    return {"cases": count, "MiB at most": int(done.stdout.split()[-1]) / 1024, "time [s]": time.perf_counter() - begin}


def short(count: int) -> None:
    """So many short cases."""
    with Workers(2) as two:
        swept(replace(cases(count), motion=MotionSettings(0.04, 0.01, 0.01), poses=()), two)


def survive(study: Study) -> dict[str, Any]:
    """On a Dask cluster a worker joins late, one is killed, the scheduler is killed and started again."""
    running: dict[str, subprocess.Popen[bytes]] = {}

    def start(name: str, *options: str) -> None:
        program = f"distributed.cli.dask_{'scheduler' if name == 'scheduler' else 'worker'}"
        command = [sys.executable, "-m", program, *options, "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running[name] = subprocess.Popen(command, start_new_session=True, **quiet)  # type: ignore[call-overload]

    def scheduler() -> None:
        start("scheduler", "--host", "127.0.0.1", "--port", str(PORT))

    def worker(name: str) -> None:
        start(name, f"tcp://127.0.0.1:{PORT}", "--nthreads", "1", "--nworkers", "1", "--name", name)

    def kill(name: str) -> None:
        os.killpg(running[name].pid, signal.SIGKILL)
        running.pop(name).wait()

    def replace_worker() -> None:
        kill("first")
        worker("second")

    def restart() -> None:
        kill("scheduler")
        time.sleep(1.0)
        scheduler()
        worker("third")  # the others end with the scheduler that they knew

    todo: list[tuple[float, Callable[[], None]]] = [(0.15, lambda: worker("late")), (0.35, replace_worker)]
    todo, done = [*todo, (0.6, restart)], 0

    def told(before: int, rows: Any) -> None:
        nonlocal done
        done += len(rows)
        if todo and done > todo[0][0] * study.size:
            todo.pop(0)[1]()

    scheduler()
    worker("first")
    try:
        found = swept(study, cluster(f"tcp://127.0.0.1:{PORT}"), progress=told)
    finally:
        for name in [*running]:
            kill(name)
    same = found == swept(study, in_process)
    return {"cases": study.size, "every case once": done == study.size and not todo, "as in this process": same}


def main() -> None:
    """See the module."""
    parser = options(__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--part", type=int, default=1000, help="cases of a run that is compared with others")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, nargs="+", help="measure memory instead, for these numbers of cases")
    parser.add_argument("--cluster", type=int, metavar="CASES", help="a Dask cluster whose parts die, instead")
    args = parser.parse_args()
    if args.memory:
        found = {"Coordinator": [memory(count) for count in args.memory]}
    elif args.cluster:
        found = {"A cluster whose parts die": [survive(cases(args.cluster))]}
    else:
        found = speed(args.cases, args.part, args.repeats)
    report(found, args.json)


if __name__ == "__main__":
    main()
