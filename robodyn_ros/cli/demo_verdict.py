"""The promise of the demonstration, and whether it was kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robodyn_ros.cli.demo_report import BASELINE, IMPROVEMENT, MODEL_BASED, RMS_LIMIT, JointFigures, RunFigures
from robodyn_ros.cli.quantity import quantity

NONE = 1e-12
"""What an error is taken for at least when something is divided by it [m] or [rad]."""


@dataclass(frozen=True)
class Verdict:
    """Whether the promise was kept.

    Attributes:
        judged: whether the runs that it needs are there.
        failures: what was not kept, with its figures.
        improvements: joint → how many times smaller its RMS error is, where there is one to compare with.
    """

    judged: bool
    failures: tuple[str, ...]
    improvements: dict[str, float]

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.failures

    def __str__(self) -> str:
        if self.failures:
            return "Failed: " + "; ".join(self.failures) + "."
        if not self.judged:
            return f"Not judged: that takes both {BASELINE} and {MODEL_BASED}."
        factors = ", ".join(f"{factor:.0f} ({joint})" for joint, factor in self.improvements.items())
        return f"Passed: the RMS error under {MODEL_BASED} is {factors} times smaller than under {BASELINE}."


def judge(runs: Sequence[RunFigures]) -> Verdict:
    """Judge runs of the same motion."""
    by_name = {run.controller: run for run in runs}
    before, after = by_name.get(BASELINE), by_name.get(MODEL_BASED)
    if before is None or after is None:
        return Verdict(judged=False, failures=tuple(_limits(after.joints) if after else ()), improvements={})
    improvements = {
        new.joint: old.rms_error / max(new.rms_error, NONE)
        for old, new in zip(before.joints, after.joints, strict=True)
    }
    failures = [*_factors(after.joints, improvements), *_limits(after.joints)]
    return Verdict(judged=True, failures=tuple(failures), improvements=improvements)


def _factors(joints: Sequence[JointFigures], improvements: dict[str, float]) -> Iterator[str]:
    for joint in joints:
        factor = improvements[joint.joint]
        if joint.unit == "rad" and not factor >= IMPROVEMENT:
            yield f"{MODEL_BASED} is only {factor:.3g} times better on the {joint.joint}, not {IMPROVEMENT:g}"


def _limits(joints: Sequence[JointFigures]) -> Iterator[str]:
    for joint in joints:
        limit = RMS_LIMIT[joint.unit]
        if not joint.rms_error < limit:
            rms, least = quantity(joint.rms_error, joint.unit), quantity(limit, joint.unit)
            yield f"{MODEL_BASED} has {rms} RMS on the {joint.joint}, not under {least}"
