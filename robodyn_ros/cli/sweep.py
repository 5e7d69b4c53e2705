# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn sweep``: does a controller meet its specification on arms that differ from the model?

Simulates an arm under control many times, each time with other masses,
friction, payload, noise, delays or gains, as defined in a study; on all
processors of this machine or on a Dask cluster, with the same results. Reports
the probability that the arm meets its specification, the worst cases, and the
sensitivity to each input. Every case can be repeated alone.

The exit code is 1 if a case does not meet the specification.

Examples:
    robodyn sweep study.yaml                            into the folder study
    robodyn sweep study.yaml --case 12 --plot case.png  one case, as it was
    robodyn sweep study.yaml --resume                   continue after Ctrl-C
    robodyn sweep study.yaml --scheduler tcp://pc:8786  on a Dask cluster
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from robodyn_ros.checks import check
from robodyn_ros.cli.arm import add_joints, chosen_arm
from robodyn_ros.cli.console import check_outputs, console, make_file, picked, print_document, print_json, tracked
from robodyn_ros.cli.verb import ExitCode, add_option, add_parameters, check_names, gather, only_with
from robodyn_ros.errors import InputError, need
from robodyn_ros.files import similar
from robodyn_ros.robot import reload_robot
from robodyn_ros.simulation.sweeps.backends import Backend, Workers, cluster, in_process
from robodyn_ros.simulation.sweeps.report import report, write_report
from robodyn_ros.simulation.sweeps.runner import CaseRunner, Rows
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.study_reader import read_study
from robodyn_ros.simulation.sweeps.summary import QUANTILES, Summary, summarise
from robodyn_ros.simulation.sweeps.sweep import need_pyarrow, sweep
from robodyn_ros.simulation.trial import stop_line
from robodyn_ros.simulation.trial_files import plot_trial

REPORT = ("report.html", "report.png")
"""Files that are written beside the results."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("study", type=Path, help="the study, a YAML file")
    add_option(parser, "--out FOLDER", "folder for the results and the report (default: the study's name)", Path)
    add_option(parser, "--resume", "keep the results in the folder, and run the missing cases", bool)
    add_study_arguments(parser)
    add_option(parser, "--case NUMBER", "run this case alone, and print its row", int)
    add_option(parser, "--plot FILE", "with --case: draw it here, .png, .svg or .pdf", Path)
    add_option(parser, "--no-report", "write no report", bool)
    add_option(parser, "--json", "print JSON instead of tables", bool)


def add_study_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that change a study, and those that choose who runs its cases."""
    add_parameters(parser, "the nodes simulator and controller, besides those of the study", "command_delay:=0.004")
    add_joints(parser)
    where = parser.add_mutually_exclusive_group()
    text = "number of processes that run the cases; 0: this one (default: one for each processor)"
    add_option(where, "--workers N", text, int)
    add_option(where, "--scheduler ADDRESS", "run them on a Dask cluster: tcp://host:port of its scheduler")


def run(args: Namespace) -> ExitCode:
    """Run the study, or one case of it.

    Raises:
        InputError: the study, a parameter or an option is wrong.
    """
    check_study(args.study, "sweep")
    only_with(args, args.case is not None, "with --case", "plot")
    only_with(args, args.case is None, "without --case", "out", "resume", "workers", "scheduler", "no_report")
    check_outputs(args.plot)
    given = gather(args.params, args.given)
    study = read_study(args.study, given, partial(chosen_arm, args=args))
    check_names(args, reload_robot(study.urdf), given)
    if args.case is not None:
        return show_case(study, args.case, args.plot, args.json)
    return _run_study(args, study)


def check_study(path: Path, verb: str) -> None:
    """Check that a file is not an arm, which most other verbs take.

    Args:
        path: the file.
        verb: that reads it, for the message.

    Raises:
        InputError: it is one; the message explains a study.
    """
    try:
        start = path.read_bytes()[:1000].lstrip() if path.is_file() else b""
    except OSError:  # the reader of the study reports it
        return
    seems_arm = path.suffix in ("", ".urdf", ".xacro") and not path.exists() and not similar(path)
    if start.startswith(b"<") or seems_arm:
        problem = f"{verb} takes a study, not an arm: a YAML file with `arm: {path}` and the inputs that vary"
        raise InputError(
            "study", f"{problem}; docs/how-to/sweep.md has an example. For one run: robodyn simulate {path}", path
        )


def show_case(study: Study, number: int, plot: Path | None, json: bool) -> ExitCode:
    """Run one case of a study, print its row and draw its picture; the answer is whether it meets the specification.

    Args:
        study: the study.
        number: of the case, from 0.
        plot: file of the picture, or None.
        json: print JSON instead of a table.

    Raises:
        InputError: there is no such case.
    """
    check(0 <= number < study.size, "--case", f"from 0 to {study.size - 1}", number)
    runner = CaseRunner(study)
    (case,) = study.cases(number, 1)
    row = runner.row(case)
    if plot is not None:
        title = f"{study.name}, case {number}: {runner.setup(case).hardware.robot.name} under {case.controller}"
        make_file("--plot", plot, partial(plot_trial, runner.run(case).trial, runner.robot, title))
    if json:
        print_json(row)
    else:
        out = console()
        if row["failed"]:
            out.print(stop_line(row["failed"], row["failed_at"]), style="bold red", soft_wrap=True)
        width = max(map(len, row))
        units = {joint.name: (joint.position_unit, joint.effort_unit) for joint in runner.robot.joints}
        for name, value in row.items():
            shown = "–" if value == "" or value != value else f"{value:.6g}" if isinstance(value, float) else str(value)
            figure, _, joint = name.partition("/")
            unit = units[joint][figure.endswith("effort")] if figure.endswith(("error", "effort")) else ""
            out.print(f"{name:<{width}}  {shown} {unit}".rstrip(), soft_wrap=True)
    return ExitCode.YES if row["met"] else ExitCode.NO


def _run_study(args: Namespace, study: Study) -> ExitCode:
    """Run all cases, summarise and report; the answer is whether every case meets the specification."""
    need_pyarrow()
    if not args.no_report:
        need("matplotlib", "the report, unless --no-report is given, needs matplotlib", "robodyn_ros[plot]")
    folder = args.out or Path(study.name)
    try:
        with choose_backend(args) as backend, progress(study.size) as show:
            file = sweep(study, folder, backend, resume=args.resume, progress=show)
    except KeyboardInterrupt:
        console(stderr=True).print(f"The results so far are in {folder}; continue with --resume.", soft_wrap=True)
        raise
    summaries = summarise(study, file)
    if not args.no_report:
        write_report(folder, study, summaries)
    _show(args, study, summaries, folder)
    met = all(summary.met == summary.cases for summary in summaries)
    return ExitCode.YES if met else ExitCode.NO


def choose_backend(args: Namespace) -> AbstractContextManager[Backend]:
    """Return the backend that runs the cases: this process, workers, or a Dask cluster.

    Args:
        args: of a verb with those of :func:`add_study_arguments`.

    Raises:
        InputError: the number of workers is out of range, or there is no such cluster.
    """
    if args.scheduler is not None:
        return nullcontext(cluster(args.scheduler))
    if args.workers == 0:
        return nullcontext(in_process)
    check(args.workers is None or 1 <= args.workers <= 1024, "--workers", "from 0 to 1024", args.workers)
    return Workers(args.workers)


@contextmanager
def progress(total: int) -> Iterator[Callable[[int, Rows], None]]:
    """Show on stderr how many cases are done and failed, and the time that is left.

    Args:
        total: number of cases.

    Yields:
        A function for the number of cases done before and the rows of newly done ones.
    """
    count = TextColumn("cases"), BarColumn(bar_width=30), MofNCompleteColumn()
    times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    failures = TextColumn("{task.fields[note]}", style="yellow")
    with tracked(*count, *times, failures, total=total, note="") as update:
        done = failed = 0

        def show(before: int, rows: Rows) -> None:
            nonlocal done, failed
            done += len(rows)
            failed += sum(1 for row in rows if row["failed"])
            note = f"{failed} failed" if failed else ""
            update(completed=before + done if rows else before, note=note)

        yield show


def _show(args: Namespace, study: Study, summaries: list[Summary], folder: Path) -> None:
    if args.json:
        print_json({"study": study.name, "cases": study.size, "folder": str(folder), **as_json(summaries)})
        return
    print_document(report(study, summaries))
    made = "results.parquet" if args.no_report else f"results.parquet, {' and '.join(REPORT)}"
    console().print(f"In {folder}: {made}", soft_wrap=True)


def as_json(summaries: list[Summary]) -> dict[str, Any]:
    """Return the summaries for JSON.

    Args:
        summaries: one for each controller.
    """
    controllers = {}
    for each in summaries:
        quantiles = [dict(zip(map(str, QUANTILES), bound.quantiles, strict=True)) for bound in each.bounds]
        bounds = [bound._asdict() | {"quantiles": own} for bound, own in zip(each.bounds, quantiles, strict=True)]
        worst = [{"case": number, "margin": margin, "failed": why} for number, margin, why in each.worst]
        outputs = each.sensitivities.items()
        shares = {output: {name: found._asdict() for name, found in inputs.items()} for output, inputs in outputs}
        figures = picked(each, "cases", "met", "probability", "stopped", "failed", "compiled")
        figures |= {"between": [each.low, each.high], "bounds": bounds, "worst": worst, "sensitivities": shares}
        controllers[each.controller] = figures
    return {"controllers": controllers}
