"""How carefully an arm is switched on."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.settings import check_settings, setting, whole


@dataclass(frozen=True)
class CommissioningConfig:
    """Settings of the procedure; each field's metadata say what it is."""

    probe_share: float = setting(
        0.2, "greatest effort of a push over the effort limit, where gravity needs less", "-", 0.01, 1.0
    )
    ramp_time: float = setting(5.0, "time in which a push grows to its greatest", "s", 0.5, 60.0)
    onset: float = setting(0.002, "distance from which on a joint counts as moved", "rad or m", 1e-5, 0.1)
    push: float = setting(0.02, "distance after which a push ends", "rad or m", 1e-4, 0.5)
    stroke: float = setting(0.1, "length of the slow motion that shows friction and gravity", "rad or m", 1e-3, 1.0)
    stroke_speed: float = setting(0.04, "speed of that motion", "rad/s or m/s", 1e-3, 1.0)
    shake: float = setting(0.025, "amplitude of the shake that shows inertia", "rad or m", 1e-4, 0.2)
    stiffness_frequency: float = setting(
        12.0, "least natural frequency that it is controlled with", "rad/s", 1.0, 100.0
    )
    overspeed: float = setting(0.6, "speed at which everything ends", "rad/s or m/s", 0.01, 10.0)
    reach: float = setting(0.35, "distance from the start at which everything ends", "rad or m", 0.01, 3.0)
    patience: float = setting(20.0, "longest wait for the arm to stand still", "s", 0.1, 600.0)
    rest_time: float = setting(1.0, "time that the arm is watched at rest", "s", 0.1, 60.0)
    retreat_time: float = setting(1.0, "time in which efforts return to nothing", "s", 0.05, 60.0)
    gravity_steps: int = whole(4, "steps from no compensation of gravity to all of it", 1, 100)
    gravity_time: float = setting(2.0, "time of each of them", "s", 0.2, 60.0)
    drift: float = setting(
        0.01, "speed under full compensation that still counts as standing", "rad/s or m/s", 1e-5, 1.0
    )
    inertia_tolerance: float = setting(1.3, "factor by which inertia may differ from the model's", "-", 1.0, 10.0)
    gravity_tolerance: float = setting(1.2, "factor by which gravity may differ from the model's", "-", 1.0, 10.0)

    def __post_init__(self) -> None:
        check_settings(self)
