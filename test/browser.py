# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Headless Chromium for tests, as far as it is there."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

PATIENCE = 300_000
"""Longest wait for the browser, which draws in software on a machine that others load too [ms]."""

FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-gpu-watchdog",  # it takes a slow drawing for a hung one, and a page without WebGL shows nothing
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def page(width: int, height: int) -> Iterator[Any]:
    """A page of a browser; what it asks other machines for is listed in ``page.elsewhere``. An error that leaves the
    context says what the page's console did.
    """
    from playwright import sync_api as playwright

    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        shown = browser.new_context(viewport={"width": width, "height": height}).new_page()
        shown.set_default_timeout(PATIENCE)
        shown.elsewhere = []
        said: list[str] = []
        shown.on("console", lambda message: said.append(message.text))
        shown.on("request", lambda request: shown.elsewhere.append(request.url) if _far(request.url) else None)
        try:
            yield shown
        except Exception as problem:
            problem.add_note("\n".join(["the page's console:", *said]))
            raise
        finally:
            browser.close()


def picture(shown: Any) -> np.ndarray:
    """What a page shows, (height, width, 3)."""
    from matplotlib.image import imread

    return imread(BytesIO(shown.screenshot(timeout=PATIENCE)))[:, :, :3]


def _far(url: str) -> bool:
    return not url.startswith(("http://localhost", "http://127.0.0.1", "ws://localhost", "ws://127", "data:", "blob:"))
