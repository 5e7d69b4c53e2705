# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The core of the control loop with the settings that are in force.

Requests to the core are carried out between two periods, whoever runs these. All settings are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import numpy as np

from robodyn_ros.control.compiled_step import CompiledStep
from robodyn_ros.control.core_library import CODES, Core
from robodyn_ros.control.core_settings import JUDGE, CoreSettings, StepInPython, make_step
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.control.faults.sampling import Judgement, StateSampling, check_sampling, judged
from robodyn_ros.control.laws.base import Controller, Reference
from robodyn_ros.control.limits import StaticLoad, check_static_load
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.motion.goals import Refused
from robodyn_ros.control.step import checked_total
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.c_interface import Record, Uncopied, address_of
from robodyn_ros.robot import Array, Robot

Running = TypeVar("Running", bound="RunningCore")


class RunningCore(Uncopied):
    """The core in C, its present settings, and the access to it while it runs: ``requester`` carries out a
    request between two periods while another object runs these; else it is None.
    """

    @classmethod
    def from_settings(cls: type[Running], settings: LoopSettings) -> Running:
        """A loop with given settings."""
        made = cls.__new__(cls)
        made._begin(settings)
        return made

    def _begin(self, settings: LoopSettings) -> None:
        self.settings = settings
        self._kept: list[Any] = []
        self.try_out(settings)
        step = make_step(settings, self._ahead)  # before the core, which may still be compiled
        self.core = Core(settings.controller.dynamics.robot.n)
        self.requester: Callable[[Record], None] | None = None
        self._is_judged = True
        self._judge = JUDGE(self.judge_rate)
        self._kept = self.core.kept
        self._copy = self.core.structs.make("State")
        self._hand_over(settings, step, "CORE_CONTINUE")

    def _ahead(self, time: float) -> Reference:
        """The reference after a time [s]; a stream is extrapolated at its velocity."""
        raise NotImplementedError

    @property
    def controller(self) -> Controller:
        """The control law."""
        return self.settings.controller

    @property
    def dynamics(self) -> Dynamics:
        """The arm's model, which the control law uses."""
        return self.settings.controller.dynamics

    @property
    def robot(self) -> Robot:
        """The arm."""
        return self.settings.controller.dynamics.robot

    @property
    def core_settings(self) -> CoreSettings:
        """The settings as the core has them."""
        return cast(CoreSettings, self._kept[-1])

    @property
    def compiled_step(self) -> CompiledStep | None:
        """The control step as compiled code; None while the law runs as Python."""
        return self._step if isinstance(self._step, CompiledStep) else None

    def runs_as_python(self, settings: LoopSettings) -> bool:
        """Whether the law would run as Python with these settings."""
        return isinstance(make_step(settings, self._ahead), StepInPython)

    def memory(self) -> Any:
        """The struct ``State`` of the core; while another object runs the periods, a copy made between two periods."""
        if self.requester is None:
            return self.core.state
        settings = self.core_settings
        law = np.full_like(settings.law_memory, np.nan)
        self._ask("SNAPSHOT", object=self._copy.address, result=law)
        settings.step.restore_law(law)
        return self._copy.fields

    def judge_rate(self) -> None:
        """Judge which gains the rate of the states allows, by the period and the delay that the core has measured."""
        memory = self.memory()
        with suppress(Exception):  # of a model; if the law uses it too, that becomes a fault of the law
            found: Judgement = judged(self.settings, sampling_of(memory), memory.q.copy())
            gains = tuple(np.ascontiguousarray(part) for part in found.feedback)
            until, late, allowed = found.stable_until, found.command_delay, found.is_allowed
            self._ask("SET_CARRIED", value=found.carried, limit=until, t=late, number=allowed, numbers=gains)

    def _ask(self, what: str, name: str = "", part: str = "", **arguments: Any) -> Record:
        """Send a request, with members of the struct ``Request``, to the core, between two periods. If the core may
        refuse it (RobodynError), ``name`` is that of the input, and ``part`` the part of it that is judged, for the
        message.
        """
        request = self.core.structs.make("Request")
        fields = request.fields
        fields.what[...] = CODES[what]
        numbers = arguments.pop("numbers", ())
        fields.numbers[: len(numbers)] = [array.ctypes.data for array in numbers]
        request.set(arguments)
        (self.requester or self.core.request)(request)
        if name and fields.outcome:
            refusal = int(fields.outcome), int(fields.joint), float(fields.value), float(fields.limit)
            raise Refused(*refusal).error(name, self.robot, part)
        return request

    def apply(self, settings: LoopSettings, learnt: dict[str, Any] | None = None) -> None:
        """Use other settings from the next update on; the change of the efforts is blended in. The law continues from
        ``learnt``, a result of :meth:`Controller.memory`, or else from its present memory. Whatever the law raises when
        it is tried out changes nothing.
        """
        before = self.settings
        self.try_out(settings)  # which also copies the law's memory from the core to the law
        settings.controller.resume(before.controller)
        if learnt is not None:
            settings.controller.restore(learnt)
        step = make_step(settings, self._ahead)
        how = "CORE_CONTINUE"
        if type(settings.controller) is not type(before.controller):
            how = "CORE_REPLACE"
        elif settings.controller.dynamics is not before.controller.dynamics or _adds(settings) != _adds(before):
            how = "CORE_BLEND"
        self._hand_over(settings, step, how)
        self.settings = settings

    def follow_model(self) -> None:
        """Use the present parameters of the model, if they have changed; :meth:`update` does this, too."""
        if self._dynamics.parameters is self._seen:
            return
        step = self._step
        self.memory()  # copies the law's memory from the core to the law
        if isinstance(step, StepInPython) or not step.read_settings():
            step = make_step(self.settings, self._ahead)
        self._hand_over(self.settings, step, "CORE_REFRESH")

    def _hand_over(self, settings: LoopSettings, step: CompiledStep | StepInPython, how: str) -> None:
        made = CoreSettings(self.core.structs, settings, step, self._judge if self._is_judged else None)
        self._ask("APPLY", object=made.record.address, number=CODES[how])
        self._kept[:] = [*self._kept[-2:], made]
        self._step = step
        self._remembers = len(made.law_memory) > 0
        self._observes_nothing = settings.contact is None
        self._dynamics = settings.controller.dynamics
        self._seen: Any = self._dynamics.parameters

    def release(self, requester: Callable[[Record], None] | None, *, judged: bool = False) -> None:
        """Have other code run the periods from now on; None for code in this thread that calls the core itself. Unless
        the rate of the states is ``judged`` at once, the caller judges it, if it is not far above the need of all
        gains.
        """
        settings = self.core_settings
        settings.law_memory[:] = self._step.law_memory
        settings.record.fields.judge[...] = address_of(self._judge) if judged else 0
        self.requester, self._is_judged = requester, judged

    def acquire(self) -> None:
        """Run the periods in this object again."""
        settings = self.core_settings
        self._step.restore_law(settings.law_memory)
        settings.record.fields.judge[...] = address_of(self._judge)
        self.requester, self._is_judged = None, True

    @contextmanager
    def run_by_others(self, *, judged: bool) -> Iterator[None]:
        """Context in which other code in this thread calls the core, as :meth:`release`."""
        self.release(None, judged=judged)
        try:
            yield
        finally:
            self.acquire()

    def try_out(self, settings: LoopSettings) -> None:
        """Compute the efforts of a control law at the arm's position, without sending them.

        Raises:
            EffortError: they are not n finite numbers.
            InputError: states come too rarely for its gains or ``state_timeout``, more so than for the present ones.
            HoldingError: the limits cannot hold the arm at its position, by more than the present limits.
            Exception: whatever the law raises.
        """
        law, rest = settings.controller, np.zeros(settings.controller.dynamics.robot.n)
        memory = None if not self._kept else self.memory()
        q = settings.controller.dynamics.robot.home if memory is None else memory.q.copy()
        # Before the first state the position of the arm is unknown.
        if memory is not None and int(memory.references.source) != CODES["WAITING"]:
            needed, now, before = self._needed(settings, q), self.settings, None
            if memory.gravity_known:  # the limits have to bear as much of it as the present ones, or hold the arm
                carried = now.safety.externally_supported
                present = needed._replace(gravity=np.abs(memory.gravity_last) * (not carried), carried=carried)
                before = present.loads(now.limits)
            check_static_load(law.dynamics, settings.limits, needed, before)
        checked_total(law, law.compute(q, rest, Reference(q, rest, rest, rest)), len(rest))
        sampling = sampling_of(memory) if memory is not None and memory.count >= 2 else StateSampling()
        check_sampling(settings, None if memory is None else self.settings, sampling, q)

    def _needed(self, settings: LoopSettings, q: Array) -> StaticLoad:
        """The efforts that hold the arm at q (n,)."""
        adds = 0.0 if settings.drives is None else settings.drives.gravity
        return StaticLoad.at(settings.controller.dynamics, q, 1.0 - adds, carried=settings.safety.externally_supported)


def sampling_of(memory: Any) -> StateSampling:
    """Period and delay of the states, as the core has measured them under the same names."""
    return StateSampling(*(getattr(memory, name).item() for name in StateSampling._fields))


def _adds(settings: LoopSettings) -> list[list[float]]:
    """The compensation that the drives add by themselves, as lists that can be compared."""
    return [term.tolist() for term in settings.drives or DriveCompensation.none(settings.controller.dynamics.robot.n)]
