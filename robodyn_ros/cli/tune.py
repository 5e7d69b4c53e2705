# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn tune``: gains that meet a specification on arms that differ from the model.

Searches for the gains that meet the specification of a study in its worst
cases with the least effort. The section `tune` of the study has the bounds of
the gains, and may list other controllers than the study; the best of several is
chosen. Then the tuned gains are compared with those of the study, on cases that
the search has not used, and written into a parameter file for the controller
node.

The exit code is 1 if the tuned gains do not meet the specification in the worst
of these cases.

Examples:
    robodyn tune study.yaml                          writes tuned.yaml
    robodyn tune study.yaml --out config/arm.yaml    writes that file
    robodyn tune study.yaml --joints shoulder,wrist  the others locked
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path

import yaml
from rich.progress import BarColumn, TimeElapsedColumn

from robodyn_ros.cli.arm import chosen_arm
from robodyn_ros.cli.console import TASK, check_file, console, print_json, simple_table, tracked, write_file
from robodyn_ros.cli.sweep import add_study_arguments, check_study, choose_backend
from robodyn_ros.cli.verb import ExitCode, add_option, check_names, gather
from robodyn_ros.robot import reload_robot
from robodyn_ros.simulation.sweeps.backends import Backend
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.study_reader import read_task
from robodyn_ros.simulation.sweeps.tuning import Score, Tuned, TuningTask, score, tune, unseen, with_gains


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("study", type=Path, help="the study, a YAML file with a section tune")
    add_option(parser, "--out FILE", "parameter file to write, for the controller node", Path("tuned.yaml"))
    add_study_arguments(parser)
    add_option(parser, "--json", "print JSON instead of a table", bool)


def run(args: Namespace) -> ExitCode:
    """Search, compare on cases that the search has not seen, and write.

    Raises:
        InputError: the study, a parameter or an option is wrong.
    """
    check_study(args.study, "tune")
    check_file("--out", args.out, ".yaml", ".yml")
    given = gather(args.params, args.given)
    study, task = read_task(args.study, given, partial(chosen_arm, args=args))
    check_names(args, reload_robot(study.urdf), given)
    with choose_backend(args) as backend, _progress(task) as show:
        best = tune(study, task, backend, show)[0]
        before, after = _compare(study, task, best, backend)
    write(args.out, study.name, best, after)
    _show(args, study, best, before, after)
    return ExitCode.YES if after.violation <= 0.0 else ExitCode.NO


def _compare(study: Study, task: TuningTask, best: Tuned, backend: Backend) -> list[Score]:
    """Score the gains of the study and the tuned ones on cases that the search has not seen."""
    robot, count, worst = reload_robot(study.urdf), task.settings.unseen, task.settings.worst
    hand_made = replace(study, controllers=study.controllers[:1])
    both = [unseen(each, count) for each in (hand_made, with_gains(study, best.controller, task.tuned(best.gains)))]
    return [score(each, count, backend, worst, robot) for each in both]


@contextmanager
def _progress(task: TuningTask) -> Iterator[Callable[[str, int, Score], None]]:
    """Show on stderr the progress of the search and its best score."""
    settings = task.settings
    most = len(task.controllers) * settings.population * len(task.bounds) * (settings.generations + 1)
    with tracked(TASK, BarColumn(bar_width=30), TimeElapsedColumn(), total=most) as update:

        def show(controller: str, tried: int, best: Score) -> None:
            text = f"{controller}: worst {100 * best.violation:+.0f} %, effort {best.effort:.3f}"
            done = task.controllers.index(controller) * most // len(task.controllers) + tried
            update(completed=done, description=text)

        yield show


def write(path: Path, study: str, best: Tuned, after: Score) -> None:
    """Write the parameter file of the tuned gains.

    Args:
        path: the file; an existing one is replaced.
        study: name of the study.
        best: the tuned gains.
        after: their score on cases that the search has not seen.

    Raises:
        InputError: the file cannot be written.
    """
    parameters = {"controller": best.controller, "gains": best.gains}
    content = yaml.safe_dump({"/**/controller": {"ros__parameters": parameters}}, sort_keys=False, allow_unicode=True)
    about = f"# Gains from `robodyn tune {study}.yaml`. Of {after.cases} cases that the tuning has not seen,\n"
    about += f"# {after.met} met the specification.\n"
    write_file("--out", path, about + content)


def _show(args: Namespace, study: Study, best: Tuned, before: Score, after: Score) -> None:
    if args.json:
        about = {"controller": best.controller, "gains": best.gains, "candidates": best.candidates}
        compared = {"before": before, "after": after, "tuning": best.score}
        scores = {name: each._asdict() for name, each in compared.items()}
        print_json({"study": study.name, **about, **scores, "file": str(args.out)})
        return
    out = console()
    both = ((f"{study.controllers[0]}, as in the study", before), (f"{best.controller}, tuned", after))
    for name, found in both:
        if found.stopped:
            out.print(f"{name}: {found.stopped}", style="bold red", soft_wrap=True)
    heads = [head.replace("_", " ") for head in ("Joint", *next(iter(best.gains.values())))]
    rows = [(joint, *(f"{value:g}" for value in own.values())) for joint, own in best.gains.items()]
    out.print(simple_table(heads, rows, title=f"{study.name}: {best.controller}", title_style="bold"))
    rows = []
    for name, found in both:
        met = f"{100 * found.met / found.cases:.2f} %"
        beyond = "stopped" if found.stopped else f"{100 * found.violation:+.0f} %"
        rows.append((name, met, beyond, f"{found.effort:.4f}" if isfinite(found.effort) else "–"))
    title = f"On {after.cases} cases that the tuning has not seen"
    out.print(simple_table(("", "Met", "Worst: beyond\nthe bound by", "Effort"), rows, title=title))
    out.print(f"{best.candidates} candidates; written to {args.out}", soft_wrap=True)
