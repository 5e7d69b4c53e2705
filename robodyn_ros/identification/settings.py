"""What is identified, and how, unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.settings import check_settings, setting, switch, whole


@dataclass(frozen=True)
class IdentificationConfig:
    """Settings of :func:`identify`; each field's metadata say what it is. What is not identified stays as it is."""

    inertial: bool = switch(True, "identify masses, first moments and inertias")
    viscous: bool = switch(True, "identify viscous friction")
    coulomb: bool = switch(True, "identify Coulomb friction")
    stribeck: bool = switch(False, "identify static friction and the Stribeck velocity")
    armature: bool = switch(False, "identify what rotors add to the inertia of their joints; a URDF cannot hold it")
    robust: bool = switch(True, "let outliers count less (Huber)")
    huber: float = setting(1.345, "error beyond which a sample counts less, in standard deviations", "-", 0.1, 100.0)
    standstill: float = setting(
        0.01, "share of a joint's greatest speed below which friction hides its effort", "-", 0.0, 0.5
    )
    prior: float = setting(
        1.0, "weight of the URDF's numbers: 1 takes them to be right within a factor of e", "-", 1e-6, 1e6
    )
    folds: int = whole(5, "parts of the samples that are left out in turn for cross-validation", 2, 100)

    def __post_init__(self) -> None:
        check_settings(self)
