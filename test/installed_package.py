# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Folders that are, for Python, installed packages with plugins: nothing is built for them."""

import re
from pathlib import Path

GUIDES = Path(__file__).parents[1] / "docs/how-to"


def install(folder: Path, name: str, group: str, *entries: str) -> None:
    """Make a folder an installed package, beside others that it may be.

    Args:
        folder: where; made if it is missing.
        name: of the package.
        group: of its entry points, as ``robodyn_ros.dynamics``.
        entries: its entry points, as ``mine = module:Class``.
    """
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *entries, ""]))


def install_guide(folder: Path, guide: str, name: str) -> str:
    """Make a folder the package of a page of docs/how-to; returns the code of the page."""
    page = (GUIDES / guide).read_text(encoding="utf-8")
    code, setup = (
        re.search(rf"cat > {name}/{file}.py <<'END'\n(.*?)END\n", page, re.DOTALL)[1] for file in (name, "setup")
    )
    (folder / f"{name}.py").write_text(code)
    install(folder, name, *re.search(r'entry_points=\{"([\w.]+)": \["(.*?)"\]\}', setup).groups())
    return code
