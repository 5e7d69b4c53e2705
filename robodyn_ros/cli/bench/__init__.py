# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn bench``: measure an arm's dynamics on this machine, and whether the machine is good enough for control.

Measures the dynamics of an arm on this machine: single calls (in place: in
memory of the caller, as a control loop does it; plain: arrays in, array out),
many states at once, a rollout, and the time until the first effort. Pinocchio,
MuJoCo and the Robotics Toolbox are measured too if they are installed
(pip install pin mujoco).

With --computer it measures for half a minute how well this computer keeps the
times of a control loop, and shows the rates and gains that are safe here. The
exit code is 1 if the default gains are not safe.

Examples:
    robodyn bench arm.urdf                        table
    robodyn bench arm.urdf --dynamics lagrangian  the other formulation
    robodyn bench arm.urdf --json                 for a script
    robodyn bench --computer --rate 1000          this computer at 1 kHz
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from robodyn_ros.checks import check
from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.bench import computer
from robodyn_ros.cli.bench.dynamics import BATCH, OTHERS, measure
from robodyn_ros.cli.console import console, picked, print_json, simple_table, waiting
from robodyn_ros.cli.verb import ExitCode, add_option, only_with
from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.engine.casadi import need_casadi
from robodyn_ros.errors import InputError
from robodyn_ros.files import find
from robodyn_ros.robot import load_robot

RATE, SECONDS = 500.0, 30.0
"""Default rate of the states [Hz], and default duration of the measurement [s], of the computer."""

ROUNDS = 30
"""Default number of runs that a median is taken of."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser, nargs="?")
    text = "measure this computer instead: period jitter, latency and lost messages of a control loop, and the safe"
    text += " gains"
    add_option(parser, "--computer", text, bool)
    add_option(parser, "--rate HZ", "rate of the states, with --computer [Hz] (default: %(default)g)", RATE)
    text = "duration of the measurement, with --computer [s] (default: %(default)g)"
    add_option(parser, "--seconds SECONDS", text, SECONDS)
    add_option(parser, "--dynamics NAME", "dynamics plugin", "rnea")
    add_option(parser, "--rounds N", "number of runs of each median", ROUNDS)
    add_option(parser, "--json", "figures for a script, in [µs] and [s]", bool)


def run(args: Namespace) -> ExitCode:
    """Measure and show; the answer is no if a measured computer is not good enough.

    Raises:
        InputError: the arm is missing, or an option is out of range.
    """
    only_with(args, args.computer, "with --computer", "rate", "seconds")
    only_with(args, not args.computer, "without --computer", "dynamics", "rounds")
    only_with(args, args.urdf, "with an arm", "joints", "locked", "root", "tip", "accept")
    if args.computer:
        return judge_computer(args)
    if args.urdf is None:
        raise InputError("urdf", "the arm is missing; `robodyn bench --computer` needs none", args.urdf)
    check(args.rounds >= 1, "--rounds", "at least 1", args.rounds)
    need_casadi()  # the first start, from an empty cache, is measured too
    robot = read_arm(args)
    with waiting(f"measuring {robot.name}"):
        found = measure(robot, args.dynamics, args.rounds)
    if args.json:
        print_json({"robot": robot.name, "joints": robot.n, "dynamics": args.dynamics, **found})
        return ExitCode.YES
    out = console()
    out.print(_call_table(f"{robot.name}, {args.dynamics}: one call [µs]", found["calls"]))
    batch, rollout, first = found["batch"], found["rollout"], found["first"]
    out.print(f"\n{BATCH:,} states of inverse dynamics: {_list(batch, lambda time: BATCH / time, ' million/s')}")
    out.print(f"1 s of RK4 at 1 kHz: {_list(rollout, lambda time: time / 1e3, ' ms')}")
    times = f"{first['warm']:.2f} s; with nothing compiled yet {first['cold']:.2f} s; import {first['import']:.2f} s"
    out.print(f"URDF to first effort: {times}")
    return ExitCode.YES


def judge_computer(args: Namespace) -> ExitCode:
    """Measure this computer, and show the rates and gains that are safe on it.

    Raises:
        InputError: the rate or the duration is out of range.
    """
    for option, value in (("--rate", args.rate), ("--seconds", args.seconds)):
        check(0.0 < value <= 1e5, option, "above 0 and at most 1e5", value)
    robot = load_robot(str(find("urdf/prr.urdf"))) if args.urdf is None else read_arm(args)
    with waiting(f"measuring this computer for {args.seconds:g} s"):
        timing = computer.measure(args.rate, args.seconds, robot)
    enough = computer.is_enough(timing)
    rates = sorted({*computer.RATES, args.rate})
    allowed = [computer.allowance(timing, rate) for rate in rates]
    if args.json:
        states = picked(timing, "rate", "scheduling") | {"states": len(timing.late), "lost": timing.lost}
        times = {"late": _spread(timing.late), "latency": _spread(timing.latency)}
        judged = {"rates": [one._asdict() for one in allowed], "enough": enough, "verdict": computer.verdict(timing)}
        print_json(states | times | judged)
    else:
        out = console()
        out.print(_timing_table(timing), _allowance_table(allowed))
        lost = f"{timing.lost:,} of {len(timing.late):,} states lost"
        out.print(f"{lost}; {timing.scheduling} priority; no middleware in between")
        out.print(Text(computer.verdict(timing), "bold green" if enough else "bold yellow"))
    return ExitCode.YES if enough else ExitCode.NO


def _spread(times: np.ndarray[Any, Any]) -> dict[str, float | None]:
    """Median, 99.9 % and greatest of times [s]; None where there are none."""
    known = times[~np.isnan(times)]
    if not len(known):
        return dict.fromkeys(("median", "most", "greatest"))
    return {"median": float(np.median(known)), "most": float(np.quantile(known, 0.999)), "greatest": float(known.max())}


def _timing_table(timing: computer.Timing) -> Table:
    rows = [
        (name, *("none" if value is None else f"{1e3 * value:.3f}" for value in _spread(times).values()))
        for name, times in (("a state is late by", timing.late), ("an effort comes after", timing.latency))
    ]
    return simple_table(("[ms]", "median", "99.9 %", "greatest"), rows, title=f"At {timing.rate:g} Hz")


def _allowance_table(allowed: Sequence[computer.Allowance]) -> Table:
    default = JointGains().natural_frequency
    rows = []
    for one in allowed:
        frequency = f"{floor(one.frequency)} rad/s" if one.keeps else "the rate is not kept"
        rows.append((f"{one.rate:g} Hz", frequency, "yes" if one.frequency >= default else "no"))
    heads = ("rate of the states", "natural frequency up to", f"default gains, {default:g} rad/s")
    return simple_table(heads, rows, title="Safe gains")


def _list(times: dict[str, float], value: Callable[[float], float], unit: str) -> str:
    """Format our figure, and those of the others in brackets."""
    others = [f"{name} {value(time):.3g}{unit}" for name, time in times.items() if name != "ours"]
    return f"{value(times['ours']):.3g}{unit}" + (f" ({', '.join(others)})" if others else "")


def _call_table(title: str, calls: dict[str, dict[str, float]]) -> Table:
    present = [name for name in OTHERS if any(name in times for times in calls.values())]
    columns = [name for name in ("in place", "plain") if name in calls["inverse"]] + present
    rows = [
        (quantity, *(f"{times[name]:.3f}" if name in times else "" for name in columns))
        for quantity, times in calls.items()
    ]
    return simple_table(("quantity", *columns), rows, title=title)
