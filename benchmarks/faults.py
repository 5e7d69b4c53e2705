# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two campaigns against the checks of the control loop: motion that none may stop, and faults that none may worsen.

    make faults                                  both, on eight arms: a quarter of an hour
    make faults BENCH="--seed 7 --legitimate 200 --injections 0"
    make faults BENCH="--arms prr ur3_robot chain12"     other arms: names, or paths of URDFs
    make faults BENCH="--case L17"               one case of the first campaign, in full; I230 is one of the second
    make faults BENCH=--json

Everything is simulated in lockstep, so that the results are the same each time. Settings are the defaults, but where a
legitimate case has more unknown friction, mass or payload than those state, and says so.

- *false alarms*: faults of legitimate motion (:mod:`fault_legitimate`) whose twin without checks stays within its speed
  limits and ends near its reference. Each is listed, with the number that reruns it.
- *worse*: injections (:mod:`fault_injections`) after which a joint is faster than 1.1 times what it is under the better
  twin, and than its limit, or is at a stop that the better twin does not reach. The twins are one without checks, and
  one that lets go at detection. *letting go worse*: the same with that twin in the place of the reaction.
- *speed*: the greatest of any joint, in velocity limits of the URDF. *moved*: the greatest displacement. *step*: the
  greatest change of an effort from one command to the next, in effort limits.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import numpy as np
from common import options, report
from fault_cell import ARMS
from fault_injections import Outcome, inject, injections
from fault_legitimate import Alarm, Legitimate, draw, run
from rich.console import Console
from rich.progress import track

SEED, LEGITIMATE = 1, 1000

MOST = 70
"""How much of the words of a fault a table shows; ``--case`` shows all [characters]."""


Rows = list[dict[str, Any]]


def legitimate_rows(cases: Sequence[Legitimate], alarms: Sequence[Alarm]) -> Rows:
    """Runs and false alarms of each arm."""
    rows = []
    for name in [*dict.fromkeys(case.setup.arm.name for case in cases), "all"]:
        found = [alarm for alarm in alarms if name in (alarm.case.setup.arm.name, "all")]
        counted = [alarm for alarm in found if alarm.counts]
        kinds = Counter(alarm.kind for alarm in counted).most_common()
        rows.append(
            {
                "arm": name, "runs": sum(name in (case.setup.arm.name, "all") for case in cases),
                "false alarms": len(counted), "arguable": sum(alarm.is_arguable for alarm in counted),
                "twin fails too": len(found) - len(counted),
                "kinds": ", ".join(f"{kind} {count}" for kind, count in kinds),
            }
        )  # fmt: skip
    return rows


def alarm_rows(alarms: Sequence[Alarm]) -> Rows:
    """Each false alarm."""
    return [
        {
            "case": f"L{alarm.case.number}", "at [s]": alarm.at, "kind": alarm.kind, "farthest": alarm.farthest,
            "what": f"{alarm.problem[:MOST]}: {alarm.case.text}",
        }
        for alarm in alarms
        if alarm.counts
    ]  # fmt: skip


def injection_rows(outcomes: Sequence[Outcome]) -> Rows:
    """What became of each fault, over arms, motion and drives."""
    in_time, rows = [outcome for outcome in outcomes if not outcome.is_early], []
    for name in [*dict.fromkeys(outcome.injection.fault.name for outcome in in_time), "all"]:
        own = [outcome for outcome in in_time if name in (outcome.injection.fault.name, "all")]
        found = [outcome for outcome in own if outcome.detected < np.inf]
        speeds = [outcome.checked.speed for outcome in own]
        rows.append(
            {
                "fault": name, "found": f"{len(found)}/{len(own)}",
                "after [ms]": 1e3 * median(outcome.detected for outcome in found) if found else None,
                "speed then": max((outcome.at_detection for outcome in found), default=None),
                "speed": median(speeds), "worst": max(speeds), "twin": max(outcome.better.speed for outcome in own),
                "step": max(outcome.checked.step for outcome in own),
                "worse": f"{sum(not outcome.is_good for outcome in own)}/{len(own)}",
                "letting go worse": f"{sum(outcome.is_useful for outcome in own)}/{len(found)}",
            }
        )  # fmt: skip
    return rows


def worse_rows(outcomes: Iterable[Outcome]) -> Rows:
    """Each injection that is worse than its better twin, the worst first."""
    bad = [outcome for outcome in outcomes if not outcome.is_good and not outcome.is_early]
    rows = []
    for outcome in sorted(bad, key=lambda each: -each.checked.speed / max(each.better.speed, 1.0)):
        injection = outcome.injection
        rows.append(
            {
                "case": f"I{outcome.case}", "fault": injection.fault.name,
                "arm": f"{injection.arm} {'moves' if injection.moves else 'stands'}{', exact' * injection.exact}",
                "drives": "brake" if outcome.brakes else "limp", "speed": outcome.checked.speed,
                "twins": [each.speed for each in (outcome.unchecked, outcome.lets_go) if each],
                "stop": "yes" if outcome.checked.stop else "",
                "found as": f"{outcome.kind} {1e3 * outcome.detected:.0f} ms" if outcome.kind else "not",
            }
        )  # fmt: skip
    return rows


def one_case(name: str, seed: int, arms: tuple[str, ...]) -> Any:
    """A case in full: ``L`` and the number of a legitimate one, or ``I`` and that of an injection."""
    number = int(name[1:])
    if name[0] == "I":
        return [in_full(outcome) for outcome in inject(number, injections(seed, arms)[number])]
    case = draw(seed, number, arms)
    alarm = run(case)
    return {"case": case.text, "alarm": alarm and in_full(alarm)}


def in_full(found: Outcome | Alarm) -> dict[str, Any]:
    """What became of a case, with its twins and the verdict, for JSON."""
    if isinstance(found, Alarm):
        return {**found._asdict(), "case": found.case.number, "text": found.case.text, "counts": found.counts}
    twins = {name: twin and twin._asdict() for name, twin in zip(Outcome._fields[-3:], found[-3:], strict=True)}
    injection = {**found.injection._asdict(), "fault": found.injection.fault.name}
    return {**found._asdict(), "injection": injection, **twins, "good": found.is_good}


def some(count: int, total: int, seed: int) -> list[int]:
    """So many of the numbers below a total, or all."""
    drawn = np.random.default_rng([seed, 3]).permutation(total)[:count]
    return sorted(drawn.tolist())


def main() -> None:
    """Run the campaigns and print what they find."""
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="another seed gives other cases")
    parser.add_argument("--legitimate", type=int, default=LEGITIMATE, help="how many legitimate runs")
    parser.add_argument("--injections", type=int, default=10**6, help="how many injections at most; all unless given")
    parser.add_argument("--arms", nargs="+", default=ARMS, help="names of arms, or paths of URDFs")
    parser.add_argument("--case", help="run this case alone, as L17 or I230")
    given = parser.parse_args()
    arms = tuple(given.arms)
    if given.case:
        print(json.dumps(one_case(given.case, given.seed, arms), indent=1, ensure_ascii=False))
        return
    progress = Console(stderr=True)
    cases = [draw(given.seed, number, arms) for number in range(given.legitimate)]
    alarms = [alarm for case in track(cases, "legitimate", console=progress) if (alarm := run(case)) is not None]
    every = injections(given.seed, arms)
    chosen = some(given.injections, len(every), given.seed)
    outcomes = [each for case in track(chosen, "injections", console=progress) for each in inject(case, every[case])]
    if given.json:
        legitimate = {"runs": len(cases), "alarms": [in_full(alarm) for alarm in alarms]}
        json.dump({"legitimate": legitimate, "injections": [in_full(each) for each in outcomes]}, sys.stdout, indent=1)
        return
    if cases:
        report({"Legitimate motion": legitimate_rows(cases, alarms), "False alarms": alarm_rows(alarms)}, False)
    if outcomes:
        report({"Faults": injection_rows(outcomes), "Worse than the better twin": worse_rows(outcomes)}, False)
        print(f"found before there was a fault: {sum(outcome.is_early for outcome in outcomes)} of {len(outcomes)}")


if __name__ == "__main__":
    main()
