# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two campaigns against the checks of the control loop: motion that none may stop, and faults that none may worsen.

    make faults                                  both, on eight arms: a quarter of an hour
    make faults BENCH="--seed 7 --legitimate 200 --injections 0"
    make faults BENCH="--arms prr ur3_robot chain11"     other arms: names, or paths of URDFs
    make faults BENCH="--case L17"               one case of the first campaign, in full; I230 is one of the second
    make faults BENCH=--json

Everything is simulated in lockstep, so that the results are the same each time. Settings are the defaults, but where a
legitimate case has more unknown friction, mass or payload than those state, and says so.

- *false alarms*: faults of legitimate motion (:mod:`fault_legitimate`) whose twin without checks stays within its speed
  limits and ends near its reference. Each is listed, with the number that reruns it.
- *worse*: injections (:mod:`fault_injections`) after which a joint is faster than 1.1 times what it is under the better
  twin, and than its limit, or is at a stop that the better twin does not reach. The twins are one without checks, and
  one that lets go at detection.
- *speed*: the greatest of any joint, in velocity limits of the URDF. *moved*: the greatest displacement. *step*: the
  greatest change of an effort from one command to the next, in effort limits.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import numpy as np
from fault_cell import ARMS
from fault_injections import Injection, Outcome, Run, inject, injections
from fault_legitimate import Alarm, Legitimate, draw, run
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

SEED, LEGITIMATE = 1, 1000

WIDTH = 100
"""Width of the tables where the output is no terminal [characters]."""


MOST = 70
"""How much of the words of a fault a table shows; ``--case`` shows all [characters]."""


def console() -> Console:
    """Where tables go: as wide as the terminal, or as ``WIDTH``."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH)


def legitimate_table(cases: Sequence[Legitimate], alarms: Sequence[Alarm]) -> Table:
    """Runs and false alarms of each arm."""
    table = _table("Legitimate motion", "arm", "runs", "false alarms", "arguable", "twin fails too", "kinds")
    for name in [*dict.fromkeys(case.setup.arm.name for case in cases), "all"]:
        runs = [case for case in cases if name in (case.setup.arm.name, "all")]
        found = [alarm for alarm in alarms if name in (alarm.case.setup.arm.name, "all")]
        counted = [alarm for alarm in found if alarm.counts]
        arguable = sum(alarm.is_arguable for alarm in counted)
        kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(alarm.kind for alarm in counted).most_common())
        table.add_row(name, *map(str, (len(runs), len(counted), arguable, len(found) - len(counted))), kinds)
    return table


def alarm_table(alarms: Sequence[Alarm]) -> Table:
    """Each false alarm."""
    table = _table("False alarms", "case", "at", "kind", "farthest", "what")
    for alarm in alarms:
        if alarm.counts:
            text = f"{alarm.problem[:MOST]}: {alarm.case.text}"
            table.add_row(
                f"L{alarm.case.number}", f"{alarm.at:.2f} s", alarm.kind, f"{alarm.farthest:.2f}", escape(text)
            )
    return table


def injection_table(outcomes: Sequence[Outcome]) -> Table:
    """What became of each fault, over arms, motion and drives."""
    table = _table("Faults", "fault", "found", "after", "speed then", "speed", "worst", "twin", "step", "worse")
    in_time = [outcome for outcome in outcomes if not outcome.is_early]
    for name in [*dict.fromkeys(outcome.injection.fault.name for outcome in in_time), "all"]:
        own = [outcome for outcome in in_time if name in (outcome.injection.fault.name, "all")]
        table.add_row(escape(name), *_injection_cells(own))
    return table


def _injection_cells(outcomes: Sequence[Outcome]) -> list[str]:
    found = [outcome for outcome in outcomes if outcome.detected < np.inf]
    after = f"{1e3 * median(outcome.detected for outcome in found):.0f} ms" if found else ""
    at_detection = f"{max(outcome.at_detection for outcome in found):.2f}" if found else ""
    speeds, better = [outcome.checked.speed for outcome in outcomes], [outcome.better.speed for outcome in outcomes]
    numbers = f"{median(speeds):.2f}", f"{max(speeds):.1f}", f"{max(better):.1f}"
    step = f"{max(outcome.checked.step for outcome in outcomes):.2f}"
    count, worse = len(outcomes), sum(not outcome.is_good for outcome in outcomes)
    return [f"{len(found)}/{count}", after, at_detection, *numbers, step, f"{worse}/{count}"]


def worse_table(outcomes: Iterable[Outcome]) -> Table:
    """Each injection that is worse than its better twin, the worst first."""
    table = _table("Worse than the better twin", "case", "fault", "arm", "drives", "speed", "twins", "stop", "found as")
    bad = [outcome for outcome in outcomes if not outcome.is_good and not outcome.is_early]
    for outcome in sorted(bad, key=lambda each: -each.checked.speed / max(each.better.speed, 1.0)):
        injection = outcome.injection
        twins = " ".join(f"{each.speed:.2f}" for each in (outcome.unchecked, outcome.lets_go) if each)
        arm = f"{injection.arm} {'moves' if injection.moves else 'stands'}{', exact' * injection.exact}"
        drives, stop = "brake" if outcome.brakes else "limp", "yes" if outcome.checked.stop else ""
        after = f"{outcome.kind} {1e3 * outcome.detected:.0f} ms" if outcome.kind else "not"
        speed = f"{outcome.checked.speed:.2f}"
        table.add_row(f"I{outcome.case}", escape(injection.fault.name), arm, drives, speed, twins, stop, after)
    return table


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, pad_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name, justify="left" if name in names[:1] or name in ("what", "kinds", "fault") else "right")
    return table


def outcome_text(outcome: Outcome) -> str:
    """An outcome in full."""
    injection = outcome.injection

    def numbers(name: str, run: Run | None) -> str:
        if run is None:
            return ""
        return f"\n  {name}: speed {run.speed:.3f}, moved {run.moved:.4f}, stop {run.stop}, step {run.step:.3f}"

    head = f"I{outcome.case} {injection.fault.name}; {injection.arm} {'moves' if injection.moves else 'stands'}"
    head += (
        f"; {'exact model' if injection.exact else 'model inexact'}; drives {'brake' if outcome.brakes else 'go limp'}"
    )
    after = f"\n  {outcome.kind} after {outcome.detected:.4f} s at speed {outcome.at_detection:.3f}: {outcome.problem}"
    runs = numbers("checked", outcome.checked) + numbers("unchecked", outcome.unchecked)
    return head + after + runs + numbers("lets go", outcome.lets_go) + f"\n  {'good' if outcome.is_good else 'WORSE'}"


def one_case(name: str, seed: int, arms: tuple[str, ...]) -> str:
    """A case in full: ``L`` and the number of a legitimate one, or ``I`` and that of an injection."""
    number = int(name[1:])
    if name[0] == "L":
        case = draw(seed, number, arms)
        alarm = run(case)
        return f"L{number} {case.text}\n  {'no fault' if alarm is None else alarm_text(alarm)}"
    return "\n".join(map(outcome_text, inject(number, injections(seed, arms)[number])))


def alarm_text(alarm: Alarm) -> str:
    """What became of a legitimate case that faulted, and of its twin."""
    twin = f"without checks: {alarm.farthest:.3f} from the reference at most, {alarm.last:.3f} at the end, "
    verdict = "FALSE ALARM" if alarm.counts else "the twin fails too"
    return f"{alarm.kind} at {alarm.at:.3f} s: {alarm.problem}\n  {twin}speed {alarm.speed:.3f}\n  {verdict}"


def as_json(cases: Sequence[Legitimate], alarms: Sequence[Alarm], outcomes: Sequence[Outcome]) -> str:
    """Everything as JSON."""

    def injected(injection: Injection) -> dict[str, Any]:
        return {**injection._asdict(), "fault": injection.fault.name}

    return json.dumps(
        {
            "legitimate": {
                "runs": len(cases),
                "alarms": [
                    {**alarm._asdict(), "case": alarm.case.number, "text": alarm.case.text, "counts": alarm.counts}
                    for alarm in alarms
                ],
            },
            "injections": [
                {
                    **outcome._asdict(),
                    "injection": injected(outcome.injection),
                    **{
                        name: run and run._asdict()
                        for name, run in zip(Outcome._fields[-3:], outcome[-3:], strict=True)
                    },
                    "good": outcome.is_good,
                }
                for outcome in outcomes
            ],
        },
        indent=1,
    )


def some(count: int, total: int, seed: int) -> list[int]:
    """So many of the numbers below a total, or all."""
    drawn = np.random.default_rng([seed, 3]).permutation(total)[:count]
    return sorted(drawn.tolist())


def main() -> None:
    """Run the campaigns and print what they find."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED, help="another seed gives other cases")
    parser.add_argument("--legitimate", type=int, default=LEGITIMATE, help="how many legitimate runs")
    parser.add_argument("--injections", type=int, default=10**6, help="how many injections at most; all unless given")
    parser.add_argument("--arms", nargs="+", default=ARMS, help="names of arms, or paths of URDFs")
    parser.add_argument("--case", help="run this case alone, as L17 or I230")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    arms = tuple(given.arms)
    if given.case:
        print(one_case(given.case, given.seed, arms))
        return
    progress = Console(stderr=True)
    cases = [draw(given.seed, number, arms) for number in range(given.legitimate)]
    alarms = [alarm for case in track(cases, "legitimate", console=progress) if (alarm := run(case)) is not None]
    every = injections(given.seed, arms)
    chosen = some(given.injections, len(every), given.seed)
    outcomes = [each for case in track(chosen, "injections", console=progress) for each in inject(case, every[case])]
    if given.json:
        print(as_json(cases, alarms, outcomes))
        return
    out = console()
    if cases:
        out.print(legitimate_table(cases, alarms), alarm_table(alarms))
    if outcomes:
        out.print(injection_table(outcomes), worse_table(outcomes))
        out.print(f"found before there was a fault: {sum(outcome.is_early for outcome in outcomes)} of {len(outcomes)}")


if __name__ == "__main__":
    main()
