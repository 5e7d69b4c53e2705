"""Identification of inertial and friction parameters from recorded motion.

    from robodyn_ros.identification import identify, prepare, read_recording

    recording = read_recording("recorded", robot.joint_names)
    (prepared,) = prepare([recording], robot)
    result = identify(robot, prepared.samples)
    result.robot  # the identified arm; result.urdf is its URDF, comments and unknown tags kept

A name is imported from its module on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robodyn_ros.identification.estimation.identify import identify
    from robodyn_ros.identification.estimation.payload import PayloadEstimate, estimate_payload
    from robodyn_ros.identification.estimation.result import Identification
    from robodyn_ros.identification.excitation import Excitation, excite
    from robodyn_ros.identification.recording import RecordedTrack, Recording, RecordingSource, read_recording
    from robodyn_ros.identification.settings import ExcitationSettings, IdentificationSettings, SignalSettings
    from robodyn_ros.identification.signals.prepare import PreparedSamples, prepare
    from robodyn_ros.identification.signals.samples import Samples

__all__ = [
    "Excitation",
    "ExcitationSettings",
    "Identification",
    "IdentificationSettings",
    "PayloadEstimate",
    "PreparedSamples",
    "RecordedTrack",
    "Recording",
    "RecordingSource",
    "Samples",
    "SignalSettings",
    "estimate_payload",
    "excite",
    "identify",
    "prepare",
    "read_recording",
]

_HOMES = {
    "Excitation": "excitation",
    "ExcitationSettings": "settings",
    "Identification": "estimation.result",
    "IdentificationSettings": "settings",
    "PayloadEstimate": "estimation.payload",
    "PreparedSamples": "signals.prepare",
    "RecordedTrack": "recording",
    "Recording": "recording",
    "RecordingSource": "recording",
    "Samples": "signals.samples",
    "SignalSettings": "settings",
    "estimate_payload": "estimation.payload",
    "excite": "excitation",
    "identify": "estimation.identify",
    "prepare": "signals.prepare",
    "read_recording": "recording",
}
"""Name → module of this room."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
