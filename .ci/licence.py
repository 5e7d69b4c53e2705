#!/usr/bin/env python3
# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Put copyright and licence at the head of every source file, new ones too; with ``--check``, name those without."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from robodyn_ros.about import with_licence  # noqa: E402

FOREIGN = ("test/data/",)
"""What others have written, under licences of their own."""


def main() -> int:
    """Return 1 if a file has to be changed that must not be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lacking = False
    for path in (ROOT / name for name in listed.split("\0") if name and not name.startswith(FOREIGN)):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture
            continue
        licensed = with_licence(path.name, text)
        if licensed != text:
            print(path.relative_to(ROOT))
            lacking = True
            if "--check" not in sys.argv[1:]:
                path.write_text(licensed, encoding="utf-8")
    return int(lacking and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
