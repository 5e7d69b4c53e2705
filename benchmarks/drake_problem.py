# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The problems of benchmarks/planning.py as Drake states them. Drake is no dependency: ``pip install drake``."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

import numpy as np


class Answer(NamedTuple):
    """What Drake found."""

    solved: bool
    duration: float  # [s]
    cost: float
    seconds: float  # from the problem to the answer


class Drake:
    """Direct collocation (Hermite-Simpson on the state, effort linear) of an arm, between states of rest."""

    def __init__(self, urdf: str) -> None:
        """
        Args:
            urdf: of the arm.

        Raises:
            ImportError: Drake is not installed.
        """
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        self.plant = MultibodyPlant(0.0)
        parser = Parser(self.plant)
        bare = re.sub(r"<visual.*?</visual>", "", urdf, flags=re.DOTALL)
        motors = "".join(
            f'<transmission name="{name}_drive"><type>SimpleTransmission</type><joint name="{name}"/>'
            f'<actuator name="{name}_motor"/></transmission>'
            for name in re.findall(r'<joint name="(\w+)" type="(?:prismatic|revolute)"', bare)
        )
        parser.AddModelsFromString(bare.replace("</robot>", f"{motors}</robot>"), "urdf")
        self.plant.WeldFrames(self.plant.world_frame(), self.plant.GetFrameByName("base"))
        self.plant.Finalize()

    def solve(self, kind: str, start, goal, limits, steps: int, duration: float | None) -> Answer:
        """Least ∫ τᵀτ dt in a fixed time, or least time.

        Args:
            kind: of solver, Snopt or Ipopt.
            start: positions.
            goal: positions.
            limits: lower, upper, velocity, effort; each (n,).
            steps: intervals.
            duration: None for least time [s].
        """
        from pydrake.planning import DirectCollocation
        from pydrake.solvers import IpoptSolver, SnoptSolver, SolverOptions
        from pydrake.trajectories import PiecewisePolynomial

        plant, n = self.plant, len(start)
        lower, upper, velocity, effort = limits
        began = time.perf_counter()
        spans = (0.002, 0.2) if duration is None else (duration / steps, duration / steps)
        context = plant.CreateDefaultContext()
        problem = DirectCollocation(
            plant, context, steps + 1, *spans, input_port_index=plant.get_actuation_input_port().get_index()
        )
        program = problem.prog()
        problem.AddEqualTimeIntervalsConstraints()
        x, u = problem.state(), problem.input()
        problem.AddConstraintToAllKnotPoints(_within(program, x, np.r_[lower, -velocity], np.r_[upper, velocity]))
        problem.AddConstraintToAllKnotPoints(_within(program, u, -effort, effort))
        still = np.zeros(n)
        for state, values in ((problem.initial_state(), start), (problem.final_state(), goal)):
            program.AddBoundingBoxConstraint(np.r_[values, still], np.r_[values, still], state)
        if duration is None:
            problem.AddFinalCost(problem.time())
        else:
            problem.AddRunningCost(u.dot(u))
        guess = duration or 0.8
        way = PiecewisePolynomial.FirstOrderHold(
            [0.0, guess], np.column_stack((np.r_[start, still], np.r_[goal, still]))
        )
        problem.SetInitialTrajectory(PiecewisePolynomial(), way)
        solver = {"Snopt": SnoptSolver, "Ipopt": IpoptSolver}[kind]()
        result = solver.Solve(program, None, SolverOptions())
        times = problem.GetSampleTimes(result)
        seconds = time.perf_counter() - began
        return Answer(result.is_success(), float(times[-1]), float(result.get_optimal_cost()), seconds)


def _within(program, variables, least, most):
    from pydrake.symbolic import Formula, logical_and

    del program
    bounds: list[Formula] = []
    for variable, low, high in zip(variables, least, most, strict=True):
        bounds += [variable >= float(low), variable <= float(high)]
    return logical_and(*bounds)
