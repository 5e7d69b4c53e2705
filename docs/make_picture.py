# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Make the moving picture of the README, docs/demo.webp: ``make picture``.

Two PRR arms make the same motion, one under PD, one under computed torque with the same gains. The motion is simulated
by the library, drawn by the viewer (viser) in a headless Chromium, and written as an animated WebP. The program needs
the extra ``test`` and a Chromium; it needs no ROS.
"""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from socket import socket
from typing import Any, NamedTuple

import numpy as np
from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont

import robodyn_ros as rd
from robodyn_ros.control import Reference, Trajectory, durations, gains, rest_to_rest
from robodyn_ros.plugins import load
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation import Mismatch, Plant, PlantSettings, RolloutRecording, simulate
from robodyn_ros.view import Arrow, Line, Mark, Overlay
from robodyn_ros.view.browser import GHOST
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing
from robodyn_ros.view.marks import Meshes

ROOT = Path(__file__).parents[1]

LAWS = ("pd", "computed_torque")
"""Names of the control laws, from left to right."""

CAPTIONS = ("PD", "computed torque")

POSES = (
    (0.2, -1.8, -0.1),
    (0.95, -1.1, 0.9),
    (0.3, 0.9, 0.5),
    (1.1, 1.5, -1.1),
    (0.6, -0.4, -0.7),
    (0.2, -1.8, -0.1),
)
"""Elevator [m], shoulder [rad], wrist [rad]; the last pose is the first, so that the picture repeats without a jump."""

VELOCITY = (1.1, 4.5, 5.0)
"""Greatest speeds [m/s, rad/s, rad/s]."""

ACCELERATION = (4.0, 13.0, 15.0)
"""Greatest accelerations [m/s², rad/s², rad/s²]."""

REST = 0.25
"""Time in each pose [s]."""

NATURAL_FREQUENCY = 12.0
"""Natural frequency of every joint under both laws [rad/s]."""

MASS_SCALE = 1.03
"""Ratio of each arm's masses to those of its model [-]."""

STEP = 0.001
"""Step of the simulation [s]."""

RATE = 14.0
"""Frame rate of the picture [1/s]."""

SIZE = (720, 450)
"""Width and height [pixels]."""

SAMPLES = 2
"""Rendered pixels per pixel of the picture, in each direction."""

QUALITY = 90
"""Quality of the WebP, 0 to 100."""

DISTANCE = 0.98
"""Distance of each arm from the middle [m]."""

CAMERA, LOOK_AT, FIELD = np.array([0.0, -12.0, 1.7]), np.array([0.0, 0.0, 0.47]), 0.204
"""Place of the camera [m], the point it looks at [m], and its vertical field of view [rad]."""

TOP, BOTTOM = (250, 251, 253), (226, 231, 238)
"""Colours of the background."""

INK, PALE = (38, 45, 56), (110, 120, 134)
"""Colours of the text."""

APART = 0.01
"""Least distance of a joint from its reference at which the ghost is drawn [rad] or [m]."""

PLACES = (0.255, 0.745)
"""Middles of the captions, as parts of the width."""

LAYERS = frozenset({"effort", "trace"})

HIDDEN = {"elevator"}
"""Marks that are not drawn, because the arm would hide them in part."""

BOLD = 1.8
"""Width of the marks, as a multiple of that in the viewer."""

SUBFRAMES = 4
"""Points of the tool's path per frame."""

TRACE = 0.6
"""Duration of the tool's path that is drawn [s]."""


class Run(NamedTuple):
    """An arm under a control law."""

    q: Array  # (N, n)
    qd: Array  # (N, n)
    effort: Array  # (N, n)
    reference: Array  # (N, n)


def motion() -> Trajectory:
    """Return the motion through the poses, at rest in each."""
    stops = np.array(POSES)
    starts = np.concatenate([[0.0], np.cumsum(durations(stops, VELOCITY, ACCELERATION) + REST)])
    times = [time for start in starts for time in (start, start + REST)]
    return rest_to_rest(np.repeat(stops, 2, axis=0), times)


def run(robot: Robot, law: str, path: Trajectory) -> Run:
    """Simulate two rounds of the motion, and return the second at the rate of the picture: it ends as it begins."""
    model = rd.create_dynamics("rnea", robot)
    found = gains(load("controllers", law), model, robot.home, NATURAL_FREQUENCY, 1.0)
    controller = rd.create_controller(law, model, *found)
    other = Mismatch(mass_scale=MASS_SCALE).draw(robot, seed=0)
    plant = Plant(
        rd.create_dynamics("rnea", robot, **other.parameters),
        PlantSettings(step=STEP),
        q0=POSES[0],
    )
    still = np.zeros(robot.n)
    made: RolloutRecording = simulate(
        plant,
        controller,
        lambda time: Reference(*path.sample(time % path.duration), still),
        2.0 * path.duration,
    )
    frames = SUBFRAMES * round(path.duration * RATE)
    shown = np.round(
        (path.duration + np.arange(frames) / frames * path.duration) / STEP
    ).astype(int)
    return Run(made.q[shown], made.qd[shown], made.effort[shown], made.reference[shown])


class Stage:
    """An arm of the picture, with its ghost and its marks."""

    def __init__(self, scene: Any, robot: Robot, name: str, across: float) -> None:
        """
        Args:
            scene: viser's.
            robot: the arm.
            name: under which it is drawn.
            across: where it stands, to the right of the middle [m].
        """
        scene.add_frame(f"/{name}", position=(across, 0.0, 0.0), show_axes=False)
        self._arm = ArmDrawing(scene, robot, f"/{name}/arm", Meshes())
        self._ghost = ArmDrawing(scene, robot, f"/{name}/ghost", Meshes(), GHOST)
        self._marks = MarkDrawing(scene, f"/{name}/marks")
        self._overlay = Overlay(robot)

    def show(self, made: Run, index: int) -> None:
        """Draw a frame; the path of the tool is that of the last moments, across the end of the round too."""
        self._arm.move(made.q[index])
        self._ghost.show(float(np.abs(made.reference[index] - made.q[index]).max()) > APART)
        self._ghost.move(made.reference[index])
        self._overlay.forget()
        marks: list[Mark] = []
        for earlier in range(index - round(TRACE * RATE * SUBFRAMES), index + 1):
            now = earlier % len(made.q)
            marks = self._overlay.marks(
                made.q[now], made.qd[now], made.effort[now], made.reference[now]
            )
        self._marks.draw(
            _bold(mark) for mark in marks if mark.layer in LAYERS and mark.name not in HIDDEN
        )


def _bold(mark: Mark) -> Mark:
    if isinstance(mark, Line):
        return mark._replace(width=BOLD * mark.width)
    return mark._replace(radius=BOLD * mark.radius) if isinstance(mark, Arrow) else mark


@contextmanager
def viewer() -> Iterator[tuple[Any, Any]]:
    """Yield viser's server and the browser that draws for it."""
    import viser
    from playwright.sync_api import sync_playwright

    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        sys.exit("Chromium is not installed")
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with redirect_stdout(StringIO()):  # it prints a banner
        server = viser.ViserServer(host="127.0.0.1", port=port, verbose=False)
    flags = [
        "--no-sandbox",
        "--use-gl=angle",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
    ]
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=chromium, args=flags)
        try:
            width, height = (SAMPLES * pixels for pixels in SIZE)
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"http://127.0.0.1:{port}")
            while not server.get_clients():
                page.wait_for_timeout(100)
            yield server, next(iter(server.get_clients().values()))
        finally:
            browser.close()
            server.stop()


def camera() -> Array:
    """Return the camera's orientation as a quaternion (w, x, y, z); its axes are right, down, forward."""
    from scipy.spatial.transform import Rotation

    forward = LOOK_AT - CAMERA
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    axes = np.column_stack([right, np.cross(forward, right), forward])
    return np.roll(Rotation.from_matrix(axes).as_quat(), 1)


def backdrop() -> Image.Image:
    """Return the background with the captions."""
    width, height = SIZE
    part = np.linspace(0.0, 1.0, height)[:, None, None]
    rows = (1.0 - part) * np.array(TOP) + part * np.array(BOTTOM)
    return Image.fromarray(np.broadcast_to(rows, (height, width, 3)).round().astype(np.uint8))


def annotate(image: Image.Image, misses: Sequence[float]) -> None:
    """Write the law and the distance of the tool from its reference [m] under each arm."""
    width, height = SIZE
    draw, fonts = ImageDraw.Draw(image), Path(get_data_path(), "fonts/ttf")
    large = ImageFont.truetype(str(fonts / "DejaVuSans-Bold.ttf"), 16)
    small = ImageFont.truetype(str(fonts / "DejaVuSans.ttf"), 13)
    for place, caption, miss in zip(PLACES, CAPTIONS, misses, strict=True):
        draw.text((place * width, height - 49), caption, INK, large, anchor="ma")
        draw.text(
            (place * width, height - 26),
            f"tool error {1000.0 * miss:.0f} mm",
            PALE,
            small,
            anchor="ma",
        )


def miss(robot: Robot, made: Run) -> Array:
    """Return the distance of the tool from its reference at each time (N,) [m]."""
    kinematics = rd.Kinematics(robot)
    there, asked = (
        np.array([kinematics.pose("tool", q)[:3, 3] for q in path])
        for path in (made.q, made.reference)
    )
    return np.linalg.norm(there - asked, axis=1)


def render(client: Any) -> Image.Image:
    """Return the picture that the browser draws, with transparency."""
    width, height = (SAMPLES * pixels for pixels in SIZE)
    pixels = client.get_render(
        height,
        width,
        wxyz=camera(),
        position=CAMERA,
        fov=FIELD,
        transport_format="png",
        timeout=60.0,
    )
    return Image.fromarray(pixels).resize(SIZE, Image.Resampling.LANCZOS)


def main() -> None:
    """Make the picture."""
    parser = ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/demo.webp", metavar="FILE")
    parser.add_argument(
        "--only", type=int, nargs="+", metavar="N", help="make PNGs of these frames only"
    )
    args = parser.parse_args()
    robot = rd.load_robot(ROOT / "urdf/prr.urdf")
    path = motion()
    runs = [run(robot, law, path) for law in LAWS]
    misses = [miss(robot, made) for made in runs]
    back = backdrop()
    frames = []
    with viewer() as (server, client):
        scene = server.scene
        scene.set_up_direction("+z")
        scene.configure_default_lights(cast_shadow=False)
        scene.add_light_ambient("/light", intensity=0.9)
        scene.add_light_directional(
            "/sun", intensity=0.7, cast_shadow=False, position=(2.0, -4.0, 5.0)
        )
        places = (-DISTANCE, DISTANCE)
        stages = [
            Stage(scene, robot, law, across) for law, across in zip(LAWS, places, strict=True)
        ]
        for _ in range(3):  # the lights come with the first frames
            render(client)
        for index in args.only or range(len(runs[0].q) // SUBFRAMES):
            with server.atomic():
                for stage, made in zip(stages, runs, strict=True):
                    stage.show(made, SUBFRAMES * index)
            frame = back.copy()
            annotate(frame, [miss[SUBFRAMES * index] for miss in misses])
            drawn = render(client)
            frame.paste(drawn, mask=drawn.getchannel("A"))
            frames.append(frame)
    if args.only:
        for index, frame in zip(args.only, frames, strict=True):
            frame.save(args.out.with_name(f"{args.out.stem}-{index}.png"))
        return
    frames[0].save(
        args.out,
        save_all=True,
        append_images=frames[1:],
        duration=round(1000.0 / RATE),
        loop=0,
        quality=QUALITY,
        method=4,
        minimize_size=False,
    )
    print(f"{args.out}: {len(frames)} frames, {args.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
