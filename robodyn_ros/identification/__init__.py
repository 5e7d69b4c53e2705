# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identification of inertial and friction parameters from recorded motion.

    from robodyn_ros.identification import identify, prepare, read_recording

    recording = read_recording("recorded", robot.joint_names)
    (prepared,) = prepare([recording], robot)
    result = identify(robot, prepared.samples)
    result.robot  # the identified arm; result.urdf is its URDF, comments and unknown tags kept

A name is imported from its module on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodyn_ros.lazy import shown

if TYPE_CHECKING:
    from robodyn_ros.identification.estimation.identify import identify
    from robodyn_ros.identification.estimation.payload import PayloadEstimate, estimate_payload
    from robodyn_ros.identification.estimation.result import Identification
    from robodyn_ros.identification.excitation import Excitation, excite
    from robodyn_ros.identification.preparation import PreparedSamples, prepare
    from robodyn_ros.identification.recording import RecordedTrack, Recording, RecordingSource, read_recording
    from robodyn_ros.identification.samples import Samples
    from robodyn_ros.identification.settings import ExcitationSettings, IdentificationSettings, SignalSettings

__all__ = [
    "Excitation", "ExcitationSettings", "Identification", "IdentificationSettings", "PayloadEstimate",
    "PreparedSamples", "RecordedTrack", "Recording", "RecordingSource", "Samples", "SignalSettings",
    "estimate_payload", "excite", "identify", "prepare", "read_recording",
]  # fmt: skip

__getattr__, __dir__ = shown(__name__)
