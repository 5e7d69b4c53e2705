"""One case of a study by itself: its row, and its picture."""

from __future__ import annotations

from pathlib import Path

from robodyn_ros.cli.console import console, print_json
from robodyn_ros.cli.verb import ExitCode
from robodyn_ros.errors import InputError
from robodyn_ros.simulation.sweeps.bench import Bench
from robodyn_ros.simulation.sweeps.study import Study


def show_case(study: Study, number: int, plot: Path | None, json: bool) -> ExitCode:
    """Try it, and show what came of it; the answer is whether it meets the specification.

    Raises:
        InputError: there is no such case.
    """
    if not 0 <= number < study.size:
        raise InputError("--case", f"must be from 0 to {study.size - 1}, not {number}", number)
    bench = Bench(study)
    (case,) = study.cases(number, 1)
    row = bench.row(case)
    if plot is not None:
        from robodyn_ros.cli.simulate_plot import draw

        setup = bench.setup(case)
        title = f"{study.name}, case {number}: {setup.rig.robot.name} under {case.controller}"
        draw(plot, bench.run(case).trial, bench.robot, title)
    if json:
        print_json({name: None if value != value else value for name, value in row.items()})
    else:
        out = console()
        width = max(map(len, row))
        for name, value in row.items():
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            out.print(f"{name:<{width}}  {shown}", markup=False, soft_wrap=True)
    return ExitCode.YES if row["met"] else ExitCode.NO
