"""Plausibility of the joint states: do velocities explain the positions, and do efforts explain the velocities?

A state can be new, finite and continuous, and still be wrong. Two checks find what single states do not show. Each
compares one source with another over intervals of ``INTERVAL``, adds up what is more than allowed (a CUSUM test), and
finds a fault when that sum passes a threshold; so noise and rounding, which come and go, add up to nothing.

**Velocities against positions.** The integral of the velocities must be the change of the positions: ::

    |Δq - ∫ q̇ dt| ≤ c Δt + RATIO max(|Δq|, |∫ q̇ dt|, |Δq̇| Δt / 2)        c = SPEED_ERROR, or less for a slow joint

A velocity with the wrong sign, in the wrong unit, or that stands still does not keep this once the joint moves.

**Efforts against velocities.** The model says what effort the motion needed; the rest is the residual ::

    r = τ - (M(q) q̈ + C(q, q̇) q̇ + g(q))

of friction, payload, errors of the model, contact, and of states that do not show what the arm does.

- *A joint that stands still* while its residual changes by more than friction can bear must begin to move: its speed
  would be v = ∫ (|r - r₀| - 2 f - LOAD |g - g₀|) dt / M_ii, where g is its weight by the model, r₀ and g₀ are the
  values when it came to rest, and f is its greatest static friction. That it stands nevertheless means that it is
  blocked, or that its encoder is dead. What is constant is in r₀; what an unknown payload and wrong masses change
  while other joints move is a part of what the model says that the weight changes.
  What friction a joint has shows while it moves under a law that drives it: f is ``STATIC`` times the friction of the
  model and the greatest residual of its recent motion. Before it has moved for ``LEARN`` it may have ``UNSURE`` times
  the friction of the URDF.
  Beyond that a joint may have friction that nobody knows, but no more than the gains overcome: from an error of
  ``STUCK`` on it must not lack ``FAST`` of its velocity limit.
- *A joint that changes its speed* as only an effort beyond the limit of its drive could has struck something, or its
  encoder stopped. The next state may be right again, so this is no fault of the states but of the motion.

A joint whose states cannot be true is believed again once it shows that its sensor lives: it moves by ``LIFE``, or its
velocity has explained its position for ``PROOF``. Otherwise somebody has to acknowledge the fault.

An interval with a gap between two states says nothing: nobody knows which commands came through, and whether brakes
closed meanwhile. It is left out, and so is a strike right after it, for the command on its way may come too late. What
is a gap depends on how often states came before. What was found before the gap stays.

No comparison can find a sensor that lies consistently: position and velocity that fit each other and the efforts.

Source: Page, Continuous Inspection Schemes, Biometrika 41 (1954), the CUSUM test; De Luca and Mattone, Actuator
Failure Detection and Isolation using Generalized Momenta, ICRA 2003, the residual of the model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.faults.problems import NO_PROBLEM, STANDS_STILL, STRUCK, WRONG_VELOCITY, FaultCause
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

INTERVAL = 0.01
"""Time between two comparisons [s]."""

ALMOST = INTERVAL * (1.0 - 1e-6)
"""The same, less the rounding of stamps [s]."""

SPEED_ERROR = 0.2
"""Greatest error of a measured velocity, of a joint that stands [rad/s] or [m/s]; of a slow one, part of its limit."""

RATIO = 0.4
"""Greatest error of a measured velocity, as part of it: a filter lags by as much in quick motions."""

DISTANCE = 0.02
"""How far velocities and positions may come apart beyond what is allowed [rad] or [m]."""

STANDS = 2e-3
"""How far a joint may move that counts as standing still [rad] or [m]."""

SLIP = 0.1
"""The same, as part of how far it should have moved."""

END = 0.01
"""Where a position limit begins, at which a stop may bear what drives a joint there [rad] or [m]."""

SETTLE = 5
"""How many intervals a joint must have stood until its residual is known."""

SETTLED = 2
"""The same of one whose friction is known: no more than friction can be in the residual."""

STATIC = 1.5
"""Static friction, in frictions of a joint that moves."""

UNSURE = 10.0
"""Friction that a joint may have before it has moved, in Coulomb frictions of the model."""

KNOWN = 0.2
"""How much of the friction that may be unknown is, for a joint that has moved, or whose friction the model knows."""

MOVES = 0.05
"""Speed from which on a joint moves [rad/s] or [m/s]; of a slow one, part of its limit."""

LEARN = 0.3
"""How long a joint must have moved until its friction is known [s]."""

LOAD = 0.5
"""How wrong the model may be about a change of the weight that a joint carries, as part of it."""

FORGET = 10.0
"""In how long a time of motion its friction is forgotten [s]."""

STUCK = 0.05
"""Error of a joint that gains in order overcome its friction with [rad] or [m]."""

FAST = 0.7
"""Speed that no joint may lack, whatever its friction is, as part of its velocity limit."""

GAP = 0.02
"""Least time between two states that is a gap [s]."""

GAPS = 3.0
"""The same, in usual times between two states."""

USUAL = 10.0
"""Over how many states the usual time is averaged."""

SPEED = 0.5
"""The speed that a joint must not lack [rad/s] or [m/s]."""

PART = 0.25
"""The same for a slow joint, as part of its limit."""

BEYOND = 1.2
"""Effort that no drive has, in effort limits."""

LIFE = 0.01
"""Motion by which a joint shows that its encoder lives [rad] or [m]."""

SIMILAR = 5.0
"""How many times as much as the model says a velocity may change that is believed, or the other way round."""

LOST = 30.0
"""For how many intervals a joint that stopped without an effort may be one that moves on."""

STUNNED = 10
"""In how many intervals a joint that has struck something must move by ``LIFE``, or its encoder is dead."""

VOTES = 3.0
"""After how many intervals it is decided whether a velocity is believed, or the position that contradicts it."""

PROOF = 0.05
"""Distance over which a velocity must explain the position before it is believed again [rad] or [m]."""


ARRAYS = (
    "integral",
    "impulse",
    "ahead",
    "behind",
    "pushed",
    "from",
    "rest",
    "load",
    "stood",
    "speed",
    "way",
    "free",
    "peak",
    "moved",
    "apart",
    "offset",
    "lost",
    "due",
    "claimed",
    "vote",
    "stopped",
    "seems_q",
    "seems_qd",
)
"""Arrays (n,) that are remembered from state to state: names of attributes, and in ``../loop.c``."""


class Thresholds(NamedTuple):
    """What the comparisons allow, each (n,)."""

    speed_error: Array  # c [rad/s] or [m/s]
    lack: Array  # speed that a joint must not lack, likewise
    inertia: Array  # M_ii(home) [kg m²] or [kg]
    friction: Array  # change of the residual that friction bears in a joint that has not moved, 2 f [N·m] or [N]
    modelled: Array  # what the friction of the model bears, which is not in the residual of a joint that moves
    doubt: Array  # what it may bear beyond that, as long as the joint has not moved
    least: Array  # the same afterwards
    pull: Array  # what the gains overcome beyond that
    fast: Array  # speed that no joint may lack [rad/s] or [m/s]
    moves: Array  # speed from which on a joint moves [rad/s] or [m/s]; infinite under a law that drives none
    beyond: Array  # effort that no drive has, likewise

    @classmethod
    def of(cls, settings: LoopSettings) -> Thresholds:
        """Those for a model and its limits."""
        dynamics, limits = settings.controller.dynamics, settings.limits
        friction = np.maximum(dynamics.parameters.coulomb, dynamics.robot.friction)
        unknown = settings.safety.unknown_friction * limits.effort
        moves = MOVES * np.minimum(1.0, limits.velocity)
        stiffness = settings.feedback.stiffness
        return cls(
            np.minimum(SPEED_ERROR, SPEED_ERROR * limits.velocity),
            np.minimum(SPEED, PART * limits.velocity),
            np.diagonal(dynamics.mass_matrix(dynamics.robot.home)).copy(),
            2.0 * UNSURE * friction,
            2.0 * STATIC * dynamics.parameters.coulomb,
            2.0 * np.where(friction > 0.0, KNOWN, 1.0) * unknown,
            2.0 * KNOWN * unknown,
            np.where(stiffness > 0.0, STUCK * stiffness, np.inf),
            FAST * limits.velocity,
            moves if settings.controller.follows else np.full(len(moves), np.inf),
            BEYOND * limits.effort,
        )


def gained_speed(speed: Array, time: Array, driving: Array, borne: Array, counts: NDArray[np.bool_]) -> Array:
    """The speed that a joint should have by now that stands still (n,) in [rad/s] or [m/s].

    Args:
        speed: before, (n,).
        time: by inertia, (n,) in [s/(kg m²)] or [s/kg].
        driving: effort (n,) in [N·m] or [N].
        borne: what friction bears of it, (n,).
        counts: where it is not 0.
    """
    excess = np.where(counts, np.sign(driving) * np.maximum(np.abs(driving) - borne, 0.0), 0.0)
    return np.where((excess != 0.0) & (excess * speed >= 0.0), speed, 0.0) + time * excess


def is_similar(first: Array, second: Array) -> Any:
    """True where the magnitudes (n,) of two values are less than ``SIMILAR`` times one another."""
    first, second = np.abs(first), np.abs(second)
    return (first < SIMILAR * second) & (second < SIMILAR * first)


class Plausibility:
    """Compares positions, velocities and efforts with each other and with the model.

    ``compare`` in ../loop.c is the same in C.

    Attributes:
        problem: what is wrong with the states; "" if nothing is.
        strike: what the last state says that the arm has struck; "" if nothing.
        stunned: how many intervals ago that was; 0 if the joint that struck it has moved since.
    """

    def __init__(self, robot: Robot, settings: LoopSettings) -> None:
        """
        Args:
            robot: the arm.
            settings: model and limits.
        """
        self._robot = robot
        self._usual, self._peak, self._moved = 0.0, np.zeros(robot.n), np.zeros(robot.n)
        self._seems_q = self._seems_qd = self._stopped = np.zeros(robot.n)
        self.apply(settings)
        self.acknowledge()

    def apply(self, settings: LoopSettings) -> None:
        """Compare by these settings from now on."""
        self._dynamics, self._timeout = settings.controller.dynamics, settings.safety.state_timeout
        self._thresholds = Thresholds.of(settings)
        self._on = settings.safety.plausibility
        if not self._on:
            self.acknowledge()

    def acknowledge(self) -> None:
        """Believe the states again."""
        self.problem = self.strike = ""
        self._doubted = self._struck = FaultCause(NO_PROBLEM)
        self._joint, self._where, self._proof, self.stunned = -1, 0.0, -1.0, 0
        self.reset()

    def reset(self) -> None:
        """Begin with the next state; what was found stays."""
        none = np.zeros(self._robot.n)
        self._last: tuple[float, Array, Array] | None = None
        self._integral, self._impulse, self._driven = none, none, False
        self._ahead, self._behind, self._apart = none, none, none
        self._due, self._claimed, self._vote = none, none, none
        self._pushed, self._after_gap = none, False
        self._stand()

    def _stand(self) -> None:
        """No joint is known to stand still."""
        none = np.zeros(self._robot.n)
        self._from, self._rest, self._load, self._stood = np.full(self._robot.n, np.nan), none, none, none
        self._speed, self._free, self._way = none, none, none
        self._offset = self._lost = none

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``loop.c``."""
        memory.doubt_joint[...], memory.where[...], memory.proof[...] = self._joint, self._where, self._proof
        memory.doubted[...], memory.strike[...] = self._doubted.kind, STRUCK if self.strike else 0
        said = self._doubted if self.problem else self._struck
        memory.doubt_problem_joint[...], memory.doubt_value[...], memory.doubt_bound[...] = said[1:]
        memory.compared[...], memory.driven[...] = self._last is not None, self._driven
        memory.stunned[...] = self.stunned
        memory.usual[...], memory.after_gap[...] = self._usual, self._after_gap
        if self._last is not None:
            memory.compared_t[...], memory.compared_q[:], memory.compared_qd[:] = self._last
            memory.begin_t[...], memory.begin_q[:], memory.begin_qd[:] = self._start
        for name in ARRAYS:
            getattr(memory, name)[:] = getattr(self, f"_{name}")

    def restore(self, memory: Any) -> None:
        """Read it from there; the problem has to be known in words."""
        self._joint, self._where, self._proof = int(memory.doubt_joint), float(memory.where), float(memory.proof)
        self._last, self._driven, self.stunned = None, bool(memory.driven), int(memory.stunned)
        self._usual, self._after_gap = float(memory.usual), bool(memory.after_gap)
        if memory.compared:
            self._last = float(memory.compared_t), memory.compared_q.copy(), memory.compared_qd.copy()
            self._start = float(memory.begin_t), memory.begin_q.copy(), memory.begin_qd.copy()
        for name in ARRAYS:
            setattr(self, f"_{name}", getattr(memory, name).copy())
        said = int(memory.doubt_problem_joint), float(memory.doubt_value), float(memory.doubt_bound)
        self._doubt(FaultCause(int(memory.doubted), *said))
        self._struck = FaultCause(int(memory.strike), *said)
        self.strike = self._struck.text(self._robot)

    def update(self, t: float, q: Array, qd: Array, effort: Array | None, *, measured: bool) -> None:
        """Take in a state.

        Args:
            t: when it was measured [s].
            q: position (n,).
            qd: velocity (n,).
            effort: what the control law has sent since the last state (n,); None if it was not the law that did.
            measured: False if the velocity is an estimate from positions.
        """
        self.strike = ""
        if not self._on:
            return
        last = self._last
        if last is None or not 0.0 <= t - last[0] <= self._timeout:
            self.reset()
            self._seems_q, self._seems_qd, self._claimed, self._stopped = q, qd, qd, q
            self._begin(t, q, qd)
            return
        dt = t - last[0]
        if dt == 0.0:
            return
        usual = self._usual or dt
        self._usual = usual + (min(dt, GAPS * usual) - usual) / USUAL
        if dt > max(GAP, GAPS * usual):
            self._look_for_life(q)
            self._after_gap = True
            self._begin(t, q, qd)
            return
        self._last = (t, q, qd)
        self._integral = self._integral + (0.5 * dt) * (qd + last[2])
        if effort is None:
            self._driven = False
        elif self._driven:
            self._impulse = self._impulse + dt * effort
        duration = t - self._start[0]
        if duration < ALMOST:
            return
        self._look_for_life(q)
        believed = not self.problem
        if self.stunned and believed:
            self._unstun(q)
        if measured:
            self._compare_velocity(duration, q - self._start[1], qd - self._start[2])
        if self._driven and not self.problem:
            self._compare_motion(duration, q, qd)
        if believed:
            self._reckon(duration, q, qd)
        if self.problem or not self._driven:
            self._stand()
        self._after_gap = False
        self._begin(t, q, qd)

    def _begin(self, t: float, q: Array, qd: Array) -> None:
        self._last = self._start = (t, q, qd)
        self._integral = self._impulse = np.zeros(len(q))
        self._driven = True

    def _compare_velocity(self, duration: float, moved: Array, change: Array) -> None:
        off = moved - self._integral
        way = np.maximum(np.maximum(np.abs(moved), np.abs(self._integral)), 0.5 * duration * np.abs(change))
        allowed = self._thresholds.speed_error * duration + RATIO * way
        self._ahead = np.maximum(self._ahead + off - allowed, 0.0)
        self._behind = np.maximum(self._behind - off - allowed, 0.0)
        self._apart = apart = np.maximum(self._ahead, self._behind)
        if self._proof >= 0.0:  # a velocity has to prove itself
            joint = self._joint
            proves = abs(off[joint]) <= allowed[joint]
            self._proof = self._proof + abs(moved[joint]) if proves else 0.0
            if self._proof > PROOF:
                self.acknowledge()
            return
        joint = int(np.argmax(apart))
        if apart[joint] > DISTANCE and not self.problem:
            self._joint, self._proof = joint, 0.0
            said, seen = float(self._integral[joint]) / duration, float(moved[joint]) / duration
            self._doubt(FaultCause(WRONG_VELOCITY, joint, said, seen))

    def _compare_motion(self, duration: float, q: Array, qd: Array) -> None:
        _, before, speed_before = self._start
        middle, speed = 0.5 * (before + q), 0.5 * (speed_before + qd)
        needed = self._dynamics.inverse(middle, speed, (qd - speed_before) / duration)
        residual = self._impulse / duration - needed
        # A joint that changes its speed as no drive could
        _, lack, inertia, friction, modelled, doubt, least, pull, fast, moves, beyond = self._thresholds
        excess = 0.0 if self._after_gap else np.abs(residual) - beyond
        self._pushed = np.maximum(self._pushed + excess * duration, 0.0)
        struck = np.flatnonzero(self._pushed > lack * inertia)
        if len(struck):
            joint = int(struck[0])
            self._pushed = np.zeros(len(q))
            self._joint, self._where, self.stunned = joint, float(q[joint]), 1
            self._struck = FaultCause(STRUCK, joint, float(abs(residual[joint])))
            self.strike = self._struck.text(self._robot)
            return
        # The friction of a joint that moves
        moving = np.minimum(np.abs(speed_before), np.abs(qd)) > moves  # one that stops says something else
        fading = (1.0 - duration / FORGET) * self._peak
        self._peak = np.where(moving, np.maximum(np.abs(residual), fading), self._peak)
        self._moved = np.minimum(np.where(moving, self._moved + duration, self._moved), LEARN)
        unmoved = self._moved < LEARN
        friction = np.where(unmoved, friction, modelled + 2.0 * STATIC * self._peak)
        borne = friction + np.where(unmoved, doubt, least)
        overcome = np.minimum(borne, friction + pull)
        # A joint that stands although it is driven
        moved = ~(np.abs(q - self._from) <= STANDS + SLIP * np.abs(self._way))
        self._from = np.where(moved, q, self._from)
        self._stood = np.where(moved, 0.0, self._stood + 1.0)
        settled = self._stood > np.where(unmoved, SETTLE, SETTLED)
        share = np.where(settled, 0.0, 1.0 / np.maximum(self._stood, 1.0))  # all of it where the joint has just moved
        self._rest = self._rest + share * (residual - self._rest)
        load = self._dynamics.gravity(middle)
        self._load = self._load + share * (load - self._load)
        wrong = LOAD * np.abs(load - self._load)
        at_end = (q > self._robot.upper - END) | (q < self._robot.lower + END)  # a stop bears what drives it there
        counts = settled & ~at_end
        rest = self._rest  # where friction is known, no more than it bears in one direction
        change = residual - np.where(unmoved, rest, np.clip(rest, -0.5 * borne, 0.5 * borne))
        self._speed = gained_speed(self._speed, duration / inertia, change, borne + wrong, counts)
        free = residual - np.where(unmoved, rest, np.clip(rest, -0.5 * overcome, 0.5 * overcome))
        self._free = gained_speed(self._free, duration / inertia, free, overcome + wrong, counts)
        self._way = np.where(settled, self._way + duration * self._speed, 0.0)
        self._offset = np.where(settled, np.clip(rest, -0.5 * overcome, 0.5 * overcome), 0.0)
        lacking = np.flatnonzero((np.abs(self._speed) > lack) | (np.abs(self._free) > fast))
        if len(lacking):
            joint = int(lacking[0])
            self._joint, self._where = joint, float(q[joint])
            self._doubt(FaultCause(STANDS_STILL, joint, float(abs(change[joint]))))

    def _unstun(self, q: Array) -> None:
        """Believe a joint that has struck something once it moves; doubt it if it does not for too long."""
        self.stunned += 1
        if abs(q[self._joint] - self._where) > LIFE:
            self._joint, self.stunned = -1, 0
        elif self.stunned > STUNNED:
            self.stunned = 0
            self._doubt(self._struck._replace(kind=STRUCK))

    def _reckon(self, duration: float, q: Array, qd: Array) -> None:
        """Where the arm seems to be.

        A joint that stands although it is driven moves by the model, and for a while so does one that has stopped
        without an effort that would stop it. Where velocity and position contradict each other, the velocity is
        believed if it changes as the model says, in most joints, else the change of the position.
        """
        apart, moved = self._apart > 0.0, (q - self._start[1]) / duration
        off = apart | (np.abs(q - self._start[1] - self._integral) > duration * self._thresholds.speed_error)
        gained = np.zeros(len(q))
        if self._driven:
            impulse = self._impulse - duration * self._offset
            gained = duration * self._dynamics.forward(self._seems_q, self._seems_qd, impulse / duration)
        said = self._seems_qd + gained
        slower = (np.abs(qd) < np.abs(said)) | (self.stunned == 1)  # a jump upwards is a lie, too
        stops = (np.abs(qd - said) > self._thresholds.speed_error) & slower & self._driven
        stays = (self._lost > 0.0) & (self._lost < LOST) & (np.abs(q - self._stopped) <= STANDS)
        self._lost = np.where(stops, 1.0, np.where(stays, self._lost + 1.0, 0.0))
        self._stopped = np.where(self._lost > 0.0, np.where(stops, q, self._stopped), q)
        stands = ((self._free != 0.0) | (self._lost > 0.0)) & ~apart
        self._claimed = np.where(off, self._claimed, qd)
        self._due = np.where(off, self._due + gained, 0.0)
        change = qd - self._claimed
        explained = (self._due * change > 0.0) & is_similar(self._due, change)
        vote = self._vote + np.where(np.abs(self._vote) < VOTES, np.where(explained, 1.0, -1.0), 0.0)
        self._vote = np.where(apart, vote, 0.0)
        lies = apart & (self._vote.sum() < 0.0)
        seems = np.where(stands, said, np.where(lies, moved, qd))
        self._seems_q = np.where(stands | (apart & ~lies), self._seems_q + duration * seems, q)
        self._seems_qd = seems

    @property
    def motion(self) -> tuple[Array, Array]:
        """Position and velocity, (n,) each, where the states have become doubtful, and by the model since then."""
        return self._seems_q, self._seems_qd

    def _doubt(self, problem: FaultCause) -> None:
        self._doubted, self.problem = problem, problem.text(self._robot)

    def _look_for_life(self, q: Array) -> None:
        if self._joint >= 0 and self._proof < 0.0 and abs(q[self._joint] - self._where) > LIFE:
            self.acknowledge()
