"""What ``robodyn identify`` prints."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from robodyn_ros.cli.console import console, print_json
from robodyn_ros.identification import Identification, report_tables
from robodyn_ros.identification.payload import PayloadEstimate
from robodyn_ros.identification.report import improved, verdict
from robodyn_ros.identification.result import Parameter, Prediction
from robodyn_ros.identification.signals import Prepared
from robodyn_ros.robot import Robot


def show_arm(result: Identification, used: Sequence[Prepared], unused: Sequence[Prepared], args: Namespace) -> None:
    """Tables: the recordings, each joint, the numbers that were identified."""
    from rich.text import Text

    out = console()
    _recordings(out, [*used, *unused])
    out.print(_table(*_joints(result)))
    sought = report_tables.sought(result)
    shown = [one for one in sought if one.identified]
    rows = [(one.name, *report_tables.figures(one), one.unit) for one in shown]
    out.print(_table(("Identified", "URDF", "Now", "±", "Unit"), rows))
    text = f"{len(shown)} of {len(sought)} parameters are identified; {result.rank} of {result.base.rank} combinations "
    out.print(text + "that motion shows are in this one.", markup=False)
    out.print(Text(verdict(result), "bold green" if improved(result) else "bold yellow"))
    for path in (args.out, args.report):
        if path is not None:
            out.print(f"Written: {path}", markup=False, soft_wrap=True)


def print_arm(result: Identification, used: Sequence[Prepared], unused: Sequence[Prepared], args: Namespace) -> None:
    """The same and more as JSON."""
    names = result.robot.joint_names
    predictions = {
        name: None if found is None else _errors(found, names)
        for name, found in (
            ("urdf", result.before),
            ("identified", result.fit),
            ("cross_validation", result.cross_validation),
            ("validation_urdf", result.validation_before),
            ("validation", result.validation),
        )
    }
    print_json(
        {
            "robot": result.robot.name,
            "joints": list(names),
            "improved": improved(result),
            "verdict": verdict(result),
            "recordings": [_recording(one) for one in used],
            "validated_on": [_recording(one) for one in unused],
            "errors": predictions,
            "noise": dict(zip(names, result.noise.tolist(), strict=True)),
            "rank": int(result.rank),
            "combinations": [
                {"name": name, "nominal": old, "value": new, "standard_error": error}
                for name, old, new, error in zip(
                    result.base.text(),
                    result.base_nominal.tolist(),
                    result.base_values.tolist(),
                    [_finite(value) for value in result.base_errors],
                    strict=True,
                )
            ],
            "condition": _finite(result.condition),
            "parameters": [_parameter(one) for one in result.parameters],
            "out": None if args.out is None else str(args.out),
            "report": None if args.report is None else str(args.report),
        }
    )


def show_payload(found: PayloadEstimate, robot: Robot, used: Sequence[Prepared]) -> None:
    """What a link holds."""
    out, payload = console(), found.payload
    _recordings(out, used)
    com, spread = (", ".join(f"{1e3 * value:.1f}" for value in values) for values in (payload.com, found.com_error))
    rows = [
        ("Mass", f"{payload.mass:.4g} kg", f"{found.mass_error:.2g} kg"),
        (f"Centre of mass in {payload.link}", f"({com}) mm", f"({spread}) mm"),
    ]
    out.print(_table(("Payload", "Value", "±"), rows))
    errors = zip(robot.joints, found.rms_without.tolist(), found.rms.tolist(), strict=True)
    rows = [
        (joint.name, f"{before:.3g} {joint.effort_unit}", f"{now:.3g} {joint.effort_unit}")
        for joint, before, now in errors
    ]
    out.print(_table(("Unexplained effort", "Without", "With the payload"), rows))
    if found.reason:
        out.print(f"Not all of it is shown: {found.reason}.", markup=False)


def print_payload(found: PayloadEstimate, robot: Robot, used: Sequence[Prepared]) -> None:
    """The same as JSON."""
    payload, names = found.payload, robot.joint_names
    print_json(
        {
            "link": payload.link,
            "mass": payload.mass,
            "mass_error": _finite(found.mass_error),
            "com": np.asarray(payload.com).tolist(),
            "com_error": [_finite(value) for value in found.com_error],
            "inertia": np.asarray(payload.inertia).tolist(),
            "identified": list(found.identified),
            "reason": found.reason,
            "rms": {name: _finite(value) for name, value in zip(names, found.rms, strict=True)},
            "rms_without": {name: _finite(value) for name, value in zip(names, found.rms_without, strict=True)},
            "recordings": [_recording(one) for one in used],
        }
    )


def _recordings(out: Any, some: Sequence[Prepared]) -> None:
    for one in some:
        later = f"act {1e3 * one.delay:.1f} ms after they are recorded"
        periods = f", mean of {one.periods} periods" if one.periods else ""
        text = f"{one.name}: {one.used:.1f} s, {len(one.samples)} samples up to {one.cutoff:.1f} Hz{periods}; "
        out.print(f"{text}{one.effort} efforts {later}.", markup=False)
        for note in (*one.notes, *(f"{name} stood still" for name in one.still)):
            out.print(f"  {note}", markup=False, style="yellow")


def _joints(result: Identification) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """How well each joint's efforts are predicted, as many columns as a terminal has room for."""
    columns = [("URDF", result.before), ("Now", result.fit), ("Left out", result.cross_validation)]
    if result.validation is not None and result.validation_before is not None:
        columns += [("Unseen: URDF", result.validation_before), ("Now", result.validation)]
    rows = [
        (joint.name, *("at rest" if np.isnan(found.rms[k]) else f"{found.relative[k]:.2%}" for _, found in columns))
        for k, joint in enumerate(result.robot.joints)
    ]
    return ("Unexplained effort", *(name for name, _ in columns)), rows


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(heading):
        table.add_column(Text(name), justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _recording(one: Prepared) -> dict[str, Any]:
    found = {key: getattr(one, key) for key in ("name", "effort", "cutoff", "delay", "periods", "used", "duration")}
    return found | {
        "delay_error": _finite(one.delay_error),
        "samples": len(one.samples),
        "still": list(one.still),
        "notes": list(one.notes),
    }


def _parameter(one: Parameter) -> dict[str, Any]:
    numbers = {name: _finite(getattr(one, name)) for name in ("nominal", "value", "standard_error")}
    return asdict(one) | numbers | {"identified": bool(one.identified)}


def _errors(found: Prediction, names: Sequence[str]) -> dict[str, Any]:
    return {
        name: {"rms": _finite(rms), "relative": _finite(relative)}
        for name, rms, relative in zip(names, found.rms, found.relative, strict=True)
    }


def _finite(value: Any) -> float | None:
    """A number for JSON, which knows no infinity."""
    return float(value) if np.isfinite(value) else None
