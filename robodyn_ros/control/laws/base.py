# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interface of a control law, and the types that all laws share: reference, efforts, friction compensation.

:class:`Controller` is the contract of every plugin in the group ``robodyn_ros.controllers``. The functions
``wrong_…`` check a result of a law against it: they return the problem, with the name of the method and the right kind;
"" if there is none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import non_negative
from robodyn_ros.document.blocks import Block, literal_table, literal_text
from robodyn_ros.document.html import Summarised
from robodyn_ros.dynamics import Dynamics, Parameters
from robodyn_ros.errors import EffortError, InputError
from robodyn_ros.plugins import require
from robodyn_ros.robot.pose import Array, read_only


class Reference(NamedTuple):
    """The desired motion now; each (n,), in the order of ``robot.joints``."""

    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]
    qdd: Array  # [rad/s²] or [m/s²]
    effort: Array  # feed-forward, added to the controller's own [N·m] or [N]


class Efforts(NamedTuple):
    """The terms of the control law, each (n,) in [N·m] or [N]; ``total`` is their sum."""

    gravity: Array
    coriolis: Array
    inertia: Array
    friction: Array
    feedback: Array
    feedforward: Array
    total: Array


class AccelerationGains(NamedTuple):
    """Feedback, linearised at rest: q̈ = -(K e + D ė + I ∫e dt) for an error e of the position, each (n, n)."""

    position: Array  # K [1/s²]
    velocity: Array  # D [1/s]
    integral: Array  # I [1/s³]

    def plus_integral_action(self, rate: float) -> AccelerationGains:
        """These gains with an integral of their feedback at the rate ρ [1/s] added: K + ρD, D + ρ and I + ρK."""
        position, velocity, integral = self
        more = rate * velocity, rate * np.eye(len(position)), rate * position
        return AccelerationGains(position + more[0], velocity + more[1], integral + more[2])


class Controller(Summarised, ABC):
    """A control law τ = f(q, q̇, reference, ∫e dt).

    ``compute`` changes nothing, and may be called for any state. Most laws have no memory. A law that learns or
    observes does so in ``advance``, which is called once a period, before ``compute``.

    Methods that use NumPy's operations, without branches on values (``np.where`` in place of ``if``), are traced and
    compiled for the arm (:mod:`robodyn_ros.control.laws.traced`). A law that cannot be traced runs as Python.

    Attributes:
        remembers: names of the attributes that ``advance`` changes: floats, and arrays of floats of a constant shape.
        traced: False for a law that must run as Python, for example because it prints or calls another process. To
            debug a law, set it to False on the object before a loop is made with it.
        feedback: the unit of the feedback. With ``effort`` the gains are a stiffness [N·m/rad, N/m] and a damping; with
            ``acceleration`` they are [1/s²] and [1/s], and the law multiplies by M(q).
        settings: dataclass of the settings that the constructor takes as its keyword ``config``; None if it takes none.
        follows: True if the law drives the arm to the reference; False if the arm is moved by hand.
        quickness: parameters that make the law's feedback quicker, for messages.
        kp, kd, ki: gains on the position error, the velocity error and the integral of the first, (n,); where all of
            ``ki`` are zero, the caller does not integrate.
    """

    feedback: ClassVar[Literal["effort", "acceleration"]]
    settings: ClassVar[type[Any] | None] = None
    follows: ClassVar[bool] = True
    quickness: ClassVar[str] = "gains.<joint>.natural_frequency"
    remembers: ClassVar[tuple[str, ...]] = ()
    traced: bool = True

    def __init__(
        self, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0, *, config: Any = None
    ) -> None:
        """Args:
            dynamics: the arm's model.
            kp, kd, ki: gains, (n,) each, or one number for every joint.
            config: an object of the class ``settings``; with its defaults unless given.

        Raises:
            InputError: a gain has the wrong shape, is negative or not finite; the law takes no settings; or see
                :meth:`use_settings`.
        """
        self.dynamics = dynamics
        self.kp = non_negative("kp", kp, dynamics.robot.n)
        self.kd = non_negative("kd", kd, dynamics.robot.n)
        self.ki = non_negative("ki", ki, dynamics.robot.n)
        self._none = read_only(np.zeros(dynamics.robot.n))
        if config is not None and self.settings is None:
            raise InputError("config", f"{type(self).__name__} takes no settings", config)
        self.use_settings(self.settings() if config is None and self.settings is not None else config)

    def use_settings(self, config: Any) -> None:
        """Make what depends on the settings, in the constructor, when the model and the gains are known;
        None if the law takes none. InputError: this arm or these gains do not allow them.
        """

    def summary(self) -> tuple[Block, ...]:
        """Return law and model, and the gains of each joint with their units."""
        rows = []
        for joint, *values in zip(self.dynamics.robot.joints, self.kp, self.kd, self.ki, strict=True):
            effort, position = joint.effort_unit, joint.position_unit
            units = f"{effort}/{position}", f"{effort}·s/{position}", f"{effort}/({position}·s)"
            if self.feedback == "acceleration":
                units = "1/s²", "1/s", "1/s³"
            rows.append((joint.name, *(f"{value:.4g} {unit}" for value, unit in zip(values, units, strict=True))))
        head = literal_text(f"{type(self).__name__} on {self.dynamics.told()}")
        return (head, literal_table(("joint", "kp", "kd", "ki"), rows))

    @abstractmethod
    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts for a state and a reference. The caller makes sure that inputs are finite and of shape (n,).

        Args:
            q, qd: positions (n,) in [rad] or [m], and velocities per [s].
            reference: the desired motion.
            integral: of the position error over time (n,) in [rad s] or [m s]; zero unless given. The caller
                owns it, and prevents its windup while an effort is saturated.
        """

    def acceleration_gains(self, q: Array, period: float = 0.0) -> AccelerationGains:
        """The law's feedback as accelerations of the arm, linearised at rest at a position (n,); for a period of the
        states [s], 0 if it is not known, or short.

        The loop derives from it the rate of states that the law needs. A law with feedback besides ``kp``, ``kd`` and
        ``ki`` must override it.
        """
        gains = AccelerationGains(np.diag(self.kp), np.diag(self.kd), np.diag(self.ki))
        if self.feedback == "acceleration":
            return gains
        inverse = np.linalg.inv(self.dynamics.mass_matrix(q))
        return AccelerationGains(*(inverse @ gain for gain in gains))

    def remedy(self, q: Array, carried: float) -> tuple[str, str]:
        """The parameter that makes the feedback too quick for the rate of the states, and how to change it; at a
        position of the arm (n,), for the fraction of the natural frequencies that the rate allows, in (0, 1).
        """
        return "gains", f"lower {self.quickness}"

    def look_ahead(self, expected: Callable[[float], Reference], effort_limit: Array) -> None:
        """Receive the future reference, before each ``advance``; for laws that plan. ``expected``: time from now [s] →
        the reference then, if no other is given until then; the greatest effort that is sent (n,) [N·m] or [N], inf for
        none.
        """

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """Update the memory of the law by a period.

        Args:
            dt: the period [s]; 0 at the first state, and after the flow of states was interrupted.
            q, qd: positions at its end, (n,) in [rad] or [m], and velocities per [s].
            reference: at its end.
            asked: effort that this law requested at its beginning, (n,) in [N·m] or [N].
            sent: effort that was sent to the drives then, (n,): equal, unless it was limited or replaced.
        """

    def resume(self, before: Controller) -> None:
        """Take over the memory of the law that this one replaces while the arm moves."""

    def forget(self) -> None:
        """Clear the memory."""

    def estimates(self) -> dict[str, float]:
        """Present estimates of the law about the arm, by names with units, for users and plots."""
        return {}

    def report(self) -> dict[str, float]:
        """How well the law works, by names with units, for the diagnostics."""
        return {}

    def complaint(self) -> str:
        """Problem since the last call that made the efforts worse than usual; "" if there was none."""
        return ""

    def memory(self) -> dict[str, Any]:
        """Memory of a law that learns, as plain data for a YAML file; empty if the law does not learn."""
        return {}

    def restore(self, memory: dict[str, Any]) -> None:
        """Take over a result of :meth:`memory` for this arm. InputError: the law has none, or it is not valid."""
        raise InputError("memory", f"{type(self).__name__} learns nothing", memory)

    def correction(self, q: Array, qd: Array, reference: Reference, integral: Array | None) -> Array:
        """The feedback kp e + kd ė + ki ∫e dt (n,), in the unit of the gains; arguments as :meth:`compute`."""
        corrected: Array = self.kp * (reference.q - q) + self.kd * (reference.qd - qd)
        return corrected if integral is None else corrected + self.ki * integral


def checked_result(law: Controller, method: str, *given: Any) -> Any:
    """Result of a law's method, one of :data:`RESULTS`; EffortError: it does not match the interface."""
    answer = getattr(law, method)(*given)
    if problem := RESULTS[method](method, answer, law.dynamics.robot.n):
        raise EffortError(f"{type(law).__name__}: {problem}")
    return answer


def check_results(law: Controller) -> None:
    """Call all methods of a law at the arm's home, at rest, and check its results and the attribute ``remembers``.
    EffortError: a result does not match the interface, or ``remembers`` names no float and no array of floats.
    """
    robot, names = law.dynamics.robot, law.remembers
    home, rest = robot.home.copy(), np.zeros(robot.n)
    reference = Reference(home, rest, rest, rest)
    if not isinstance(names, (tuple, list)):
        raise EffortError(f"{type(law).__name__}: remembers is {kind_of(names)}, not a tuple of names of attributes")
    for name in names:
        if problem := _no_memory(law, name):
            raise EffortError(f"{type(law).__name__}: remembers names {name!r}, {problem}")
    states = {"compute": (home, rest, reference, None), "acceleration_gains": (home,), "remedy": (home, 0.5)}
    states["correction"] = states["compute"]
    for method in RESULTS:
        checked_result(law, method, *states.get(method, ()))


def _no_memory(law: Controller, name: object) -> str:
    """Why an attribute cannot be remembered; "" if it can."""
    if not isinstance(name, str) or name not in vars(law):
        return "but the law has no such attribute after its constructor"
    value = getattr(law, name)
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        return ""
    return f"which is {kind_of(value)}, not a float or an array of floats"


def what_is_wrong(efforts: object, n: int) -> str:
    """The problem of a result of :meth:`Controller.compute`, with the right kind of result; "" if there is none."""
    return wrong_terms("compute", efforts, Efforts, (n,))


RESULTS: dict[str, Callable[[str, object, int], str]] = {
    "correction": lambda method, answer, n: wrong_array(method, answer, (n,)),
    "compute": lambda method, answer, n: what_is_wrong(answer, n),
    "acceleration_gains": lambda method, answer, n: wrong_terms(method, answer, AccelerationGains, (n, n)),
    "remedy": lambda method, answer, n: (
        ""
        if isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, str) for part in answer)
        else _returns(method, answer, "a tuple of a parameter's name and a text")
    ),
    "estimates": lambda method, answer, n: wrong_numbers(method, answer),
    "report": lambda method, answer, n: wrong_numbers(method, answer),
    "complaint": lambda method, answer, n: (
        "" if isinstance(answer, str) else _returns(method, answer, 'a string, "" if nothing is wrong')
    ),
    "memory": lambda method, answer, n: wrong_data(method, answer),
}
"""Method of a law that returns something → function of its name, a result and n: the problem, "" if there is none."""

CONSTANTS = {"feedback": ("effort", "acceleration")}  #: Attribute of a law's class → its allowed values.

require("controllers", Controller, CONSTANTS, "dynamics", "kp", "kd", "ki", check=check_results)


SMOOTHING = 0.002
"""Reference velocity at which three quarters of the Coulomb friction are fed forward [rad/s] or [m/s]. A reference has
no noise, so this is small. Below it friction is not fully compensated: a joint sticks at both ends of each motion."""


class FrictionCompensation:
    """The effort against the friction that a model knows.

        τ_friction(q̇) = d q̇ + f tanh(q̇ / v)

    d is the viscous and f the Coulomb friction, v the smoothing velocity. Both are the parameters of the model where it
    has any, else those of the URDF's ``<dynamics>``. At a standstill Coulomb friction balances the load, with any value
    up to ± f, so it is not compensated there; a step by sign(q̇) would shake the arm with the noise of the encoder.

    Source: Andersson, Söderberg, Björklund, Friction models for sliding dry, boundary and mixed lubricated contacts,
    Tribology International 40 (2007), the smoothed Coulomb model (tanh).
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics = dynamics
        self._seen: Parameters | None = None
        self._refresh()

    @property
    def viscous(self) -> Array:
        """(n,) in [N·m·s/rad] or [N·s/m]."""
        self._refresh()
        return self._viscous

    @property
    def coulomb(self) -> Array:
        """(n,) in [N·m] or [N]."""
        self._refresh()
        return self._coulomb

    def against(self, qd: Array, smoothing: float) -> Array:
        """The effort that overcomes friction at velocities (n,), with a smoothing velocity in [rad/s] or [m/s]."""
        self._refresh()
        return self._viscous * qd + self._coulomb * np.tanh(qd / smoothing)

    def _refresh(self) -> None:
        robot, parameters = self._dynamics.robot, self._dynamics.parameters
        if parameters is self._seen:
            return
        self._seen = parameters
        self._viscous = parameters.viscous if parameters.viscous.any() else robot.damping
        self._coulomb = parameters.coulomb if parameters.coulomb.any() else robot.friction


class FrictionLaw(Controller):
    """A law that compensates the friction of its model."""

    def use_settings(self, config: Any) -> None:
        """See :meth:`Controller.use_settings`."""
        self._friction = FrictionCompensation(self.dynamics)


def wrong_terms(method: str, answer: object, kind: type[Any], shape: tuple[int, ...]) -> str:
    """For a method that returns a named tuple of arrays of floats, each of a given shape."""
    if not isinstance(answer, kind):
        return _returns(method, answer, f"{kind.__name__}({', '.join(kind._fields)})")
    parts = zip(kind._fields, answer, strict=True)
    wrong = (_wrong_floats(f"the term {name} of {method}", value, shape) for name, value in parts)
    return next(filter(None, wrong), "")


def wrong_array(method: str, answer: object, shape: tuple[int, ...]) -> str:
    """For a method that returns an array of floats of a given shape."""
    if not isinstance(answer, np.ndarray):
        return _returns(method, answer, f"an array of floats of shape {shape}")
    return _wrong_floats(f"the result of {method}", answer, shape)


def _wrong_floats(what: str, value: object, shape: tuple[int, ...]) -> str:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi":
        return f"{what} is {kind_of(value)}, not an array of floats of shape {shape}"
    if value.shape != shape:
        return f"{what} has shape {value.shape}, not {shape}"
    return "" if np.isfinite(value).all() else f"{what} is not finite: {value}"


def wrong_numbers(method: str, answer: object) -> str:
    """For a method that returns numbers by names."""
    wanted = "a dict of names with units and finite numbers"
    if not isinstance(answer, dict):
        return _returns(method, answer, wanted)
    for name, value in answer.items():
        if not isinstance(name, str):
            return f"{method} returns the name {name!r}, which is {kind_of(name)}, not a string"
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            return f"{method} returns {kind_of(value)} as {name!r}, not a number"
        if not np.isfinite(float(value)):
            return f"{method} returns {float(value)} as {name!r}, which is not finite"
    return ""


def wrong_data(method: str, answer: object) -> str:
    """For a method that returns data for a file."""
    if not isinstance(answer, dict):
        return _returns(method, answer, "a dict of plain data")
    odd = next(_odd(answer), None)
    wanted = "plain data for a YAML file: numbers, strings, lists and dicts of them"
    return "" if odd is None else f"{method} returns {kind_of(odd)} in its dict, not {wanted}"


def _odd(data: object) -> Iterator[object]:
    """Items of some data that are no plain data."""
    if isinstance(data, dict):
        yield from (each for item in data.items() for part in item for each in _odd(part))
    elif isinstance(data, (list, tuple)):
        yield from (each for part in data for each in _odd(part))
    elif type(data) not in (bool, int, float, str, type(None)):
        yield data


def _returns(method: str, answer: object, wanted: str) -> str:
    if answer is None:
        return f"{method} returns None: is its return statement missing?"
    return f"{method} returns {kind_of(answer)}, not {wanted}"


def kind_of(value: object) -> str:
    """The class of a value; for an array also its type of numbers and its shape."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    said = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    said += "" if dtype in (None, np.dtype(float)) else f" of {dtype}"
    return said if shape is None else f"{said} of shape {tuple(shape)}"
