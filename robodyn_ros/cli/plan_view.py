"""A plan in the browser, again and again: the arm on its way, the tool's trace, what is in the way."""

from __future__ import annotations

import time

import numpy as np

from robodyn_ros.cli.console import console
from robodyn_ros.planning.obstacles import Sphere
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Problem
from robodyn_ros.view.browser import Browser

RATE = 25.0
"""Pictures a second."""

PAUSE = 1.0
"""At the end, before it begins anew [s]."""

LAYERS = frozenset({"effort", "trace", "com"})


def view(plan: Plan, problem: Problem, port: int) -> None:
    """Show it until Ctrl-C.

    Raises:
        ConfigurationError: viser is not installed, or the port is taken.
    """
    browser, trajectory = Browser(problem.dynamics.robot, "127.0.0.1", port), plan.to_trajectory()
    _obstacles(browser, problem)
    console().print(f"http://localhost:{port}  (Ctrl-C ends)", soft_wrap=True)
    try:
        while True:
            browser.overlay.forget()
            begun = time.monotonic()
            while (t := time.monotonic() - begun) < plan.duration + PAUSE:
                sample = trajectory.sample(t)
                planned = None if trajectory.planned is None else trajectory.planned.at(t)
                browser.show(sample.q, sample.qd, planned, None, LAYERS)
                time.sleep(1.0 / RATE)
    finally:
        browser.stop()


def _obstacles(browser: Browser, problem: Problem) -> None:
    scene, color = browser.server.scene, (200, 80, 60)
    for obstacle in problem.obstacles:
        name, position = f"/obstacles/{obstacle.name}", obstacle.center
        if isinstance(obstacle, Sphere):
            scene.add_icosphere(name, radius=obstacle.radius, color=color, opacity=0.5, position=position)
            continue
        from scipy.spatial.transform import Rotation

        turn = np.roll(Rotation.from_matrix(obstacle.rotation).as_quat(), 1)  # viser puts w first
        size = tuple(obstacle.size.tolist())
        scene.add_box(name, dimensions=size, color=color, opacity=0.5, position=position, wxyz=turn)
