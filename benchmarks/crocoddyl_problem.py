# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A problem of benchmarks/planning.py as Crocoddyl states it. Crocoddyl is no dependency: ``pip install crocoddyl``."""

from __future__ import annotations

import time

import numpy as np


class Crocoddyl:
    """∫ ½ τᵀτ dt + ½ (x - goal)ᵀ W (x - goal) at the end, Runge-Kutta steps of order four, effort limits."""

    def __init__(self, urdf: str, start, goal, weights, duration: float, steps: int, limit) -> None:
        """See benchmarks/planning.py.

        Raises:
            ImportError: Crocoddyl is not installed.
        """
        import crocoddyl
        import pinocchio as pin

        model = pin.buildModelFromXML(urdf)
        state = crocoddyl.StateMultibody(model)
        actuation = crocoddyl.ActuationModelFull(state)
        running, final = (crocoddyl.CostModelSum(state, actuation.nu) for _ in range(2))
        effort = crocoddyl.ResidualModelControl(state, actuation.nu)
        running.addCost("effort", crocoddyl.CostModelResidual(state, effort), 1.0)
        reached = crocoddyl.ResidualModelState(state, np.asarray(goal), actuation.nu)
        weighted = crocoddyl.ActivationModelWeightedQuad(np.asarray(weights))
        final.addCost("goal", crocoddyl.CostModelResidual(state, weighted, reached), 1.0)

        def action(costs, h: float):
            motion = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
            # Without an armature Crocoddyl 3.2.1 on Pinocchio 4.1.0 loses gravity on the first joint of a chain: the
            # PRR arm's elevator accelerates by g at the effort that holds it. With one, however small, it is right.
            motion.armature = np.full(model.nv, 1e-12)
            there = motion.createData()
            motion.calc(there, np.asarray(start), np.ones(model.nv))
            q, v = np.split(np.asarray(start, dtype=float), 2)
            np.testing.assert_allclose(
                there.xout, pin.aba(model, model.createData(), q, v, np.ones(model.nv)), rtol=1e-8
            )
            made = crocoddyl.IntegratedActionModelRK(motion, crocoddyl.RKType.four, h)
            made.u_lb, made.u_ub = -np.asarray(limit), np.asarray(limit)
            return made

        models = [action(running, duration / steps)] * steps
        self._problem = crocoddyl.ShootingProblem(np.asarray(start), models, action(final, 0.0))
        self._problem.nthreads = 1
        self._kinds = {"BoxDDP": crocoddyl.SolverBoxDDP, "BoxFDDP": crocoddyl.SolverBoxFDDP}
        self._logger = crocoddyl.CallbackLogger
        self.version = crocoddyl.__version__

    def solve(self, kind: str, efforts: np.ndarray, iterations: int) -> tuple[list[float], float]:
        """Cost after each iteration, and time [s], from a guess."""
        solver = self._kinds[kind](self._problem)
        solver.th_stop = 1e-7
        log = self._logger()
        solver.setCallbacks([log])
        us = [u.copy() for u in efforts]
        xs = self._problem.rollout(us)
        began = time.perf_counter()
        solver.solve(xs, us, iterations, True)
        return list(log.costs), time.perf_counter() - began
