"""The table of the demonstration: 80 columns at most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich import box
from rich.table import Table
from rich.text import Text

from robodyn_ros.cli.demo_report import JointFigures, RunFigures
from robodyn_ros.cli.demo_verdict import Verdict
from robodyn_ros.cli.quantity import digits, quantity


def table(runs: Sequence[RunFigures]) -> Table:
    """A row for each controller and joint. Under the controller's name: rate of the states, commands sent and lost."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("Controller", "Joint"):
        made.add_column(heading, no_wrap=True)
    for heading in ("RMS error", "Peak error", "Peak effort", "Limit"):
        made.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        lost = Text(f"{run.commands_lost} lost", "red" if run.commands_lost else "")
        about = (
            Text(run.controller, "bold cyan"),
            Text(f"{run.state_rate:.0f} Hz", "dim"),
            Text.assemble((f"{run.commands_sent} sent, ", "dim"), lost),
        )
        last = max(len(run.joints), len(about)) - 1
        for index, (joint, text) in enumerate(zip_longest(run.joints, about)):
            made.add_row(text, *(_cells(joint) if joint else ()), end_section=index == last)
    return made


def _cells(joint: JointFigures) -> tuple[str, ...]:
    return (
        joint.joint,
        quantity(joint.rms_error, joint.unit),
        quantity(joint.peak_error, joint.unit),
        f"{digits(joint.peak_effort)} {joint.effort_unit}",
        f"{joint.effort_share:.0%}",
    )


def verdict_text(verdict: Verdict) -> Text:
    """The verdict, in the colour of its outcome."""
    style = "bold red" if verdict.failures else "bold green" if verdict.judged else "yellow"
    return Text(str(verdict), style)
