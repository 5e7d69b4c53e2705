# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The law ``mpc`` in the controller node, in lockstep with the simulator: however long it thinks, time waits for it."""

from closed_loop_scenario import START, follows_a_trajectory

import robodyn_ros as rd


def test_follows_a_trajectory_and_says_when_it_could_not_solve(graph, prr):
    """After a switch to it from a law in the loop's thread, where the law and the thread would wait for each other."""
    # What is compiled for the law is in the cache before anybody waits for it.
    rd.create_controller("mpc", rd.create_dynamics("rnea", rd.load_robot(prr)), 1.0, 1.0)
    graph.start_arm(prr, {"initial_position": START}, lockstep=True, **{"mpc.budget": 60.0})
    late = "mpc solutions too late, computed torque instead"

    def runs(law, realtime):
        values = graph.diagnostics("controller")
        return values.get("controller") == law and values["realtime"].startswith(realtime)

    graph.wait(lambda: runs("computed_torque", "on"), "the thread of the loop")
    graph.set("controller", controller="mpc")
    graph.wait(lambda: runs("mpc", "off: the law MPC runs as Python"), "a loop outside of its thread")
    follows_a_trajectory(graph)
    values = graph.diagnostics("controller")
    assert float(values["mpc solutions used"]) > 100
    assert float(values[late]) == 0

    # A law without time to think does what computed torque does, and complains.
    graph.set("controller", **{"mpc.budget": 0.0})

    def complains():
        values = graph.diagnostics("controller")
        return values["level"] == "1" and float(values[late]) > 0

    graph.wait(complains, "a complaint")
    graph.set("controller", controller="computed_torque")
    graph.wait(lambda: runs("computed_torque", "on"), "the loop in its thread again")
