"""A document as PDF, by whatever LaTeX there is."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from robodyn_ros.dynamics.document.blocks import Document
from robodyn_ros.dynamics.document.tex import tex
from robodyn_ros.errors import ConfigurationError

ENGINES = {
    "pdflatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "lualatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "xelatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "tectonic": (),
}
"""Programs that are looked for, in this order, and their options."""

PATIENCE = 120.0
"""For a document that takes a second or two [s]."""


def pdf(document: Document) -> bytes:
    """The content of the file.

    Raises:
        ConfigurationError: there is no LaTeX here, or it fails.
    """
    engine = next((name for name in ENGINES if shutil.which(name)), None)
    if engine is None:
        raise ConfigurationError(f"PDF needs LaTeX: none of {', '.join(ENGINES)} is on PATH (latex and html need none)")
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "document.tex"), Path(folder, "document.pdf")
        source.write_text(tex(document), encoding="utf-8")
        command = [engine, *ENGINES[engine], source.name]
        try:
            for _ in range(2):  # longtable learns its widths from the first run
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE
                )
        except subprocess.TimeoutExpired as cause:
            raise ConfigurationError(f"{engine} did not end within {PATIENCE:.0f} s") from cause
        if done.returncode or not result.exists():
            said = next((line for line in done.stdout.splitlines() if line.startswith("!")), "it gives no reason")
            raise ConfigurationError(f"{engine} failed: {said.lstrip('! ')}")
        return result.read_bytes()
