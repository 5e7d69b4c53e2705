# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Planning: the best motions that the arm's own dynamics allow.

A :class:`~robodyn_ros.planning.problem.Problem` states start, goal, cost, limits and obstacles. Collocation
(:mod:`robodyn_ros.planning.collocation.collocation`) and time scaling (:mod:`robodyn_ros.planning.time_scaling`) find
a :class:`~robodyn_ros.planning.plan.Plan`. iLQR (:mod:`robodyn_ros.planning.ddp.ilqr`) finds a motion of fixed duration
with its feedback, and :mod:`robodyn_ros.planning.mpc` is the control law that plans again every few states.
"""
