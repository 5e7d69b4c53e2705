# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn completion``: bash itself is asked what it offers."""

import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from robodyn_ros.cli import completion
from robodyn_ros.cli import main as command
from robodyn_ros.cli.derive import FORMATS
from robodyn_ros.dynamics.symbolic.export import LANGUAGES
from robodyn_ros.plugins import available

shtab = pytest.importorskip("shtab", reason="it writes the scripts")

URDF = Path(__file__).parents[1] / "urdf"
ASK = """
source {script}
function=$(complete -p robodyn | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=({words} {last})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$function robodyn "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "robodyn"
    with path.open("w") as file, redirect_stdout(file):
        assert command.main(["completion", "bash"]) == 0
    return path


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("robodyn de", {"demo", "derive"}),
        ("robodyn derive --nu", {"--numbers"}),
        ("robodyn derive arm.urdf --format ", set(FORMATS)),
        ("robodyn export arm.urdf --language ", set(LANGUAGES)),
        ("robodyn export arm.urdf --dynamics ", set(available("dynamics"))),
        ("robodyn plugins dyn", {"dynamics"}),
        (f"robodyn derive {URDF}/pr", {f"{URDF}/pr.urdf", f"{URDF}/prr.urdf"}),
        *(
            (f"robodyn {line} {URDF}/prr", {f"{URDF}/prr.urdf"})
            for line in ("derive a --out", "contact a", "identify a b", "identify a --validate")
        ),
    ],
)
def test_bash(script: Path, words: str, offered: set[str]) -> None:
    before, _, last = words.rpartition(" ")
    program = ASK.format(script=shlex.quote(str(script)), words=before, last=shlex.quote(last))
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, set(done.stdout.split())) == (0, offered), done.stderr


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in command.VERBS)


def test_without_shtab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert command.main(["completion", "bash"]) == 2
    assert "pip install 'robodyn_ros[completion]'" in capsys.readouterr().err
