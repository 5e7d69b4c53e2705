"""Changing what a controller works by while the arm moves.

A change takes effect between two commands, as a whole or not at all, and what it changes of the efforts is blended in.
Gains, limits and runtime parameters of the model are there at once. Another control law or dynamics plugin may take
seconds to make: it is made beside the loop, by a dry run in a process of its own first, and swapped in when ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros import create_dynamics
from robodyn_ros.control.faults.dry_run import check_model, dry_run
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.loop_settings import LoopSettings, make_loop_settings, model_parameters
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.preparation import BackgroundTask
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.plugins import load

LOOK = 0.05
"""How often to see whether what is being made is ready [s]."""

FAULT = "switch failed"
"""What is counted when a change that was accepted cannot be made."""


class Switching:
    """Changing what a controller works by while the arm moves.

    A change takes effect between two commands, as a whole or not at all, and what it changes of the efforts is blended
    in.
    Gains, limits and runtime parameters of the model are there at once. Another control law or dynamics plugin may take
    seconds to make: it is made beside the loop, by a dry run in a process of its own first, and swapped in when
    ready.

    Attributes:
        running: names of the dynamics plugin and of the control law at work.
    """

    def __init__(self, node: Node, loop: ClosedLoop, faults: Faults) -> None:
        """
        Args:
            node: whose parameters.
            loop: what is changed.
            faults: where failed changes are counted.
        """
        values = NodeParameters(node)
        self.running: tuple[str, str] = (values["dynamics"], values["controller"])
        self._node, self._loop, self._faults = node, loop, faults
        self._preparation: BackgroundTask[tuple[tuple[str, str], Dynamics]] | None = None
        self._timer = steady_timer(node, LOOK, self._look)
        self._timer.cancel()  # it runs while there is something to wait for

    def check(self, values: NodeParameters) -> Callable[[], None]:
        """What brings the change about, if it can be; nothing has changed yet.

        Raises:
            RobodynError: it cannot; the message says why.
        """
        names, tuning, model = (values["dynamics"], values["controller"]), *self._tried(values)

        def change() -> None:
            tuning.controller.dynamics.configure(**model)
            self._loop.apply(tuning)
            if names == self.running:
                self._preparation = None
            elif self._preparation is None:
                self._prepare(*names)

        if names != self.running:
            for kind, name in zip(("dynamics", "controllers"), names, strict=True):
                load(kind, name)
            if self._preparation is not None and self._preparation.name != " and ".join(names):
                raise NotReadyError(f"a switch to {self._preparation.name} is under way")
        return change

    def destroy(self) -> None:
        """Change nothing any more."""
        self._preparation = None
        self._node.destroy_timer(self._timer)

    def _tried(self, values: NodeParameters) -> tuple[LoopSettings, dict[str, Any]]:
        """What to work by, and the model's runtime parameters; tried where the arm is.

        Raises:
            RobodynError: a value is wrong, or the law or the model cannot work with it.
        """
        loop, model = self._loop.loop, model_parameters(values, self._loop.robot)
        dynamics = loop.controller.dynamics
        before = {name: getattr(dynamics.parameters, name) for name in model}
        dynamics.configure(**model)
        try:
            tuning = make_loop_settings(values, dynamics, self.running[1])
            loop.try_out(tuning)
        except RobodynError:
            raise
        except Exception as problem:  # of a plugin
            raise NotReadyError(f"the model fails with that: {type(problem).__name__}: {problem}") from problem
        finally:
            dynamics.configure(**before)
        return tuning, model

    def _prepare(self, dynamics: str, controller: str) -> None:
        robot, parameters = self._loop.robot, model_parameters(NodeParameters(self._node), self._loop.robot)

        def make() -> tuple[tuple[str, str], Dynamics]:
            dry_run(dynamics, controller, robot.urdf)
            model = create_dynamics(dynamics, robot, **parameters)
            check_model(model)
            rest = np.zeros(robot.n)
            load("controllers", controller)(model, 1.0, 1.0).compute(rest, rest, Reference(rest, rest, rest, rest))
            return (dynamics, controller), model

        self._preparation = BackgroundTask(f"{dynamics} and {controller}", make)
        self._timer.reset()

    def _look(self) -> None:
        """Swap in what is ready."""
        preparation = self._preparation
        if preparation is not None and not preparation.done:
            return
        self._timer.cancel()
        if preparation is None:
            return
        self._preparation = None
        try:
            names, model = preparation.result()
            values = NodeParameters(self._node)
            model.configure(**model_parameters(values, self._loop.robot))
            self._loop.apply(make_loop_settings(values, model, names[1]))
        except Exception as problem:  # of a plugin
            self._faults.counts[FAULT] += 1
            self._node.get_logger().error(f"{FAULT}: {type(problem).__name__}: {problem}; what runs goes on")
            dynamics, controller = self.running
            back = [Parameter("dynamics", value=dynamics), Parameter("controller", value=controller)]
            self._node.set_parameters_atomically(back)
            return
        self.running = names
        self._node.get_logger().info(f"switched to {preparation.name}")
