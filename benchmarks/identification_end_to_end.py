# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An unknown arm, from its first recording to better control, over real ROS 2 topics and files.

    benchmarks/identification_end_to_end.py                 three periods of 10 s, and another motion
    benchmarks/identification_end_to_end.py --seeds 1 2 3   of several arms, drawn by these seeds

The simulator node stands in for the arm, as in test/test_nodes_identification.py: masses, centres of mass and inertias
differ from the URDF, there is friction that it has not, encoders are coarse, states and commands late, and the measured
efforts have 1 % of noise. `robodyn identify` finds the arm from what was recorded. Exit code 1 unless for every arm

- every base parameter is found within 1 %, of itself or of the effort of the joint where it has most,
- the efforts of a motion that was not used are predicted within 2 %,
- and computed torque with the new URDF follows that motion at least five times better than with the old one (RMS).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import common  # which puts the folder of the tests on the path
import identification_scenario as scenario
import numpy as np
from ros_graph import own_graph

from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification.estimation.base_parameters import base_parameters
from robodyn_ros.identification.excitation import Excitation, excite
from robodyn_ros.identification.settings import ExcitationSettings
from robodyn_ros.robot.pose import Array

NOISE = 0.01
"""Of the measured efforts, as a part of their root mean square."""

SETTLING = 1.0
"""Time after which nothing is left of where the arm was before the motion [s]."""

PARAMETER, EFFORT, BETTER = 0.01, 0.02, 5.0
"""What is promised, see the module."""


def main() -> int:
    """Run and report."""
    parser = common.options(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[3], help="of the arms")
    parser.add_argument("--rate", type=float, default=500.0, help="of the states [Hz]")
    parser.add_argument("--periods", type=int, default=3, help="of the exciting motion")
    parser.add_argument("--report", type=Path, help="folder for reports and URDFs")
    args = parser.parse_args()
    scenario.RATE = args.rate
    found = []
    for seed in args.seeds:
        scenario.TRUTH["seed"] = seed
        with TemporaryDirectory() as folder, own_graph(Path(folder)) as graph:
            found.append({"arm": seed} | measure(graph, Path(folder), args))
    base = [{"arm": one["arm"], **row} for one in found for row in one.pop("base parameters")]
    common.report(
        {"Base parameters": base, "Efforts of a motion that was not used, and tracking of it": found}, args.json
    )
    return 0 if all(one["as promised"] for one in found) else 1


def measure(graph: Any, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Figure → value."""
    text = common.PRR.read_text(encoding="utf-8")
    true, start = scenario.truth(text), list(scenario.START.values())
    motion = excite(true.robot, ExcitationSettings(periods=args.periods, velocity_share=0.4), start=start)
    other = ExcitationSettings(periods=1, period=8.0, harmonics=3, seed=8, velocity_share=0.3)
    end = motion.trajectory.positions[-1]
    unseen = excite(true.robot, other, start=end)
    back = excite(true.robot, other, start=unseen.trajectory.positions[-1])
    arm = scenario.Arm(graph, text)
    arm.control(text)
    arm.follow(motion.trajectory)
    used = arm.save(folder / "used", NOISE)
    before = arm.follow(unseen.trajectory, max(unseen.approach, SETTLING))
    test = arm.save(folder / "test.mcap", NOISE)
    arm.leave()

    kept = folder if args.report is None else args.report
    old, new = folder / "prr.urdf", kept / f"identified-{scenario.TRUTH['seed']}.urdf"
    old.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "robodyn_ros.cli.main", "identify", old, used, "--validate", test]
    command += ["--out", new, "--json"]
    if args.report is not None:
        command += ["--report", new.with_suffix(".html")]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    said = json.loads(done.stdout)

    arm.control(new.read_text(encoding="utf-8"))
    after = arm.follow(back.trajectory, max(back.approach, SETTLING))
    base = parameters(said, true, motion)
    relative = {joint: one["relative"] for joint, one in said["errors"]["validation"].items()}
    better = scenario.rms(before) / scenario.rms(after)
    good = all(min(one["of itself"], one["of the effort"]) < PARAMETER for one in base)
    return {
        "base parameters": base,
        "unseen efforts": relative,
        "unseen efforts by the URDF": {j: one["relative"] for j, one in said["errors"]["validation_urdf"].items()},
        "delay [ms]": 1e3 * said["recordings"][0]["delay"],
        "tracking by the URDF": scenario.rms(before).tolist(),
        "tracking": scenario.rms(after).tolist(),
        "times better": better.tolist(),
        "as promised": good and max(relative.values()) < EFFORT and bool(better.min() >= BETTER),
    }


def parameters(said: dict[str, Any], true: scenario.Truth, motion: Excitation) -> list[dict[str, Any]]:
    """Of each base parameter: true value, found value, and the error in two ways."""
    base = base_parameters(true.robot, inertial=True, viscous=True, coulomb=True)
    q, qd, qdd = motion.series.sample(np.linspace(0.0, motion.series.period, 1000))
    whole = RNEA(true.robot).regressor(q, qd, qdd)
    columns, effort = root(base.regressor(whole)), root(whole @ true.theta)
    values = zip(said["combinations"], base.values(true.theta).tolist(), columns.T, strict=True)
    return [
        {
            "name": one["name"],
            "true": value,
            "found": one["value"],
            "standard error": one["standard_error"],
            "of itself": abs(one["value"] - value) / abs(value),
            "of the effort": float(np.max(abs(one["value"] - value) * share / effort)),
        }
        for one, value, share in values
    ]


def root(values: Array) -> Array:
    """Root mean square over the samples."""
    found: Array = np.sqrt(np.mean(values**2, axis=0))
    return found


if __name__ == "__main__":
    sys.exit(main())
