"""What the simulator reports to /diagnostics, above all how fast its time passes."""

from __future__ import annotations

from time import monotonic

from robodyn_ros.nodes.command_input import CommandInput
from robodyn_ros.nodes.diagnostics import Report
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.lockstep import Lockstep
from robodyn_ros.nodes.real_time import RealTime
from robodyn_ros.nodes.scheduling import Scheduling
from robodyn_ros.nodes.simulator_output import SimulatorOutput
from robodyn_ros.simulation.hardware import Hardware


class SimulatorReport:
    """See the module."""

    def __init__(
        self,
        hardware: Hardware,
        time: Lockstep | RealTime,
        output: SimulatorOutput,
        commands: CommandInput,
        faults: Faults,
        scheduling: Scheduling,
    ) -> None:
        """
        Args:
            hardware: what is simulated.
            time: how its time passes.
            output: what was published.
            commands: what was taken.
            faults: what went wrong.
            scheduling: how the node is scheduled.
        """
        self._hardware = hardware
        self._time = time
        self._output = output
        self._commands = commands
        self._faults = faults
        self._scheduling = scheduling
        self.restart()

    def restart(self) -> None:
        """Measure how fast time passes from here on."""
        self._since = monotonic(), self._hardware.now, self._time.lost

    def make(self, paused: bool) -> Report:
        """The report since the last one or :meth:`restart`."""
        hardware, (then, steps, lost) = self._hardware, self._since
        self.restart()
        values: dict[str, object] = {
            "real-time factor": (hardware.now - steps) * hardware.plant.config.step / (self._since[0] - then),
            "simulated time [s]": hardware.time,
            "states since start": self._output.states,
            "commands since start": self._commands.taken,
            "lost time [s]": self._time.lost,
            "scheduling": self._scheduling.state,
            **dict(sorted(self._faults.counts.items())),
        }
        problem = self._time.problem or ("cannot keep up with real time" if self._time.lost > lost else "")
        return Report(hardware.plant.dynamics.robot.name, problem, self._state(paused), values)

    def _state(self, paused: bool) -> str:
        """What the simulator is doing, in a few words."""
        if paused:
            return "paused"
        if self._hardware.held:
            return "braked" if self._hardware.silent else "braked until the first command"
        return "running, without commands" if self._hardware.silent else "running"
