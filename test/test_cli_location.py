"""A mistake in a URDF is answered with file, line and element."""

from __future__ import annotations

from pathlib import Path

import pytest
from arms import joint, link, robot

from robodyn_ros.cli import main as command

GOOD = robot("arm", link("a"), link("b", 1.0), joint("j", "revolute", "a", "b"))


def run(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = folder / "arm.urdf"
    path.write_text(text)
    assert command.main(["compile", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.replace(str(folder), "")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('mass value="1.0"', 'mass value="-1.0"', "/arm.urdf:3: link 'b': mass -1 kg is negative"),
        ('type="revolute"', 'type="revolut"', "/arm.urdf:4: joint 'j': type 'revolut' is not supported; it must be"),
        ('link="b"', 'link="c"', "/arm.urdf:4: joint 'j': its child link 'c' does not exist"),
        ('type="revolute"', 'type="fixed"', "/arm.urdf:1: robot 'arm': has no joint that moves"),
        ('<link name="a"/>', '<link name="a"/>\n<link name="a"/>', "/arm.urdf:3: link 'a': there is another link"),
        ("</robot>", "", "/arm.urdf: malformed XML at line 5"),
    ],
)
def test_mistakes(right: str, wrong: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert right in GOOD
    assert run(GOOD.replace(right, wrong), tmp_path, capsys).startswith(f"error: {message}")


def test_names_with_quotes_are_found_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace('"j"', '"it&apos;s"').replace('type="revolute"', 'type="x"')
    assert run(text, tmp_path, capsys).startswith("error: /arm.urdf:4: joint \"it's\": type 'x'")
