# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a maintainer of ROS 2 checks before a release: versions, licences, linters, declared quality, CI."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import robodyn_ros as rd
from robodyn_ros.about import COPYRIGHT, LICENCE, with_licence
from robodyn_ros.control.export.ros2_control import Maintainer, export_package, write_package

ROOT = Path(__file__).parents[1]


def ran(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


MAIN = "from ament_{0}.main import main; import sys; sys.exit(main())"
"""A program that runs one of ament's linters."""


def ament(linter: str, *words: str, script: str = MAIN) -> None:
    """Have one of ament's linters check something."""
    if find_spec(f"ament_{linter}") is None:
        pytest.skip(f"ament_{linter} is not installed (a ROS 2 installation has it)")
    done = ran(sys.executable, "-c", script.format(linter), *words)
    if "Failed to locate the main schema resource" in done.stderr:
        pytest.skip("the schema of package.xml stands on the network, which is not to be had here")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported package."""
    urdf = ROOT / "urdf/prr.urdf"
    dynamics = rd.create_dynamics("rnea", rd.load_robot(urdf))
    text, ada = urdf.read_text(encoding="utf-8"), Maintainer("Ada Lovelace", "ada@lovelace.org")
    folder = tmp_path_factory.mktemp("exported") / "prr_controller"
    write_package(folder, export_package(dynamics, {}, "computed_torque", "prr_controller", text, ada))
    return folder


def test_one_version() -> None:
    setup = re.search(r'^    version="(.+)",$', (ROOT / "setup.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert setup is not None
    assert ET.parse(ROOT / "package.xml").getroot().findtext("version") == setup[1]
    assert rd.__version__ == setup[1], "install the package again"


def test_the_changelog_tells_of_the_version() -> None:
    """As bloom and catkin_prepare_release read it; lines of changes since then are under Forthcoming."""
    from catkin_pkg import changelog as changelogs

    changelog = changelogs.get_changelog_from_path(str(ROOT))
    released = [entry for entry in changelog.foreach_version() if not str(entry[0]).startswith("Forthcoming")]
    version, date, content = released[0]
    assert version == rd.__version__
    assert date is not None
    assert len(content) >= 1
    text = (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
    _, first = re.split(r"^\d+\.\d+\.\d+ \(", text, flags=re.MULTILINE)[-2:]
    assert len(first.splitlines()) <= 40, "the first version says what the package can do, not how it came about"


def test_every_source_file_has_copyright_and_licence() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no clone of git, which lists the files")
    done = ran(sys.executable, ".ci/licence.py", "--check")
    assert (done.returncode, done.stdout) == (0, ""), "put them there by .ci/licence.py"


def test_copyright_and_licence_stand_at_the_head_once() -> None:
    lines = [COPYRIGHT, LICENCE]
    for name, mark, text in (
        ("arm.py", "# ", '"""An arm."""\n'),
        ("arm.py.in", "# ", "import math\n"),
        ("arm.c", "// ", "int n;\n"),
        ("arm.tex", "% ", "\\documentclass{article}\n"),
        ("CMakeLists.txt", "# ", "project(arm)\n"),
    ):
        made = with_licence(name, text)
        assert made == "".join(f"{mark}{line}\n" for line in lines) + "\n" + text
        assert with_licence(name, made) == made
    program = with_licence("run", "#!/bin/sh\nexit\n")
    assert program.splitlines() == ["#!/bin/sh", *(f"# {line}" for line in lines), "", "exit"]
    assert with_licence("run", program) == program
    for name, text in (("arm.urdf", "<robot/>\n"), ("__init__.py", "")):
        assert with_licence(name, text) == text


COPYRIGHTS = """
import sys
from ament_{0} import get_licenses, parser
from ament_{0}.licenses import LicenseEntryPoint
from ament_{0}.main import main
header = "{{copyright}}\\n" + sys.argv.pop(1)
known = dict(get_licenses(), spdx=LicenseEntryPoint("Apache License, Version 2.0", "Apache-2.0", [header], [], []))
parser.get_licenses = lambda: known
sys.exit(main())
"""
"""ament_copyright, which knows licences by their whole header, with the line of SPDX besides."""


def test_ament_copyright(package: Path) -> None:
    folders = ("robodyn_ros", "launch", "docs", "examples", "benchmarks", "test")
    ament("copyright", LICENCE, *folders, str(package), script=COPYRIGHTS)


AMENT = ("D100", "D101", "D102", "D103", "D104", "D105", "D106", "D107", "D203", "D212", "D404")
"""What ament_flake8 and ament_pep257 leave out of pydocstyle's rules."""


def test_python_that_is_exported_has_the_style_of_ament(package: Path) -> None:
    """What ament_flake8 and ament_pep257 ask for by default, by ruff, wherever it is."""
    quotes = 'lint.flake8-quotes.inline-quotes="single"'
    rules = ("--line-length", "99", "--select", "E,F,W,A,BLE,C4,D,Q", "--ignore", ",".join(AMENT), "--config", quotes)
    done = ran(sys.executable, "-m", "ruff", "check", "--isolated", *rules, str(package))
    assert done.returncode == 0, done.stdout


def test_lines_of_cmake_that_are_exported_are_of_aments_length(package: Path) -> None:
    text = (package / "CMakeLists.txt").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 140, "ament_lint_cmake: linelength"


@pytest.mark.parametrize("linter", ["flake8", "pep257", "xmllint", "lint_cmake"])
def test_ament_takes_what_is_exported(linter: str, package: Path) -> None:
    ament(linter, str(package))


def test_ament_pep257() -> None:
    """In Google's convention, without what .ruff.toml leaves out, and what pydocstyle takes for signatures or words."""
    left_out = sorted(set(re.findall(r'"(D\d{3})"', (ROOT / ".ruff.toml").read_text(encoding="utf-8"))))
    rules = ("--convention", "google", "--add-ignore", *left_out, "D402", "D403", "--")
    ament("pep257", *rules, "robodyn_ros", "launch")


def test_ament_xmllint() -> None:
    ament("xmllint", "package.xml")


def test_the_manifests_are_those_of_ros_packages(package: Path) -> None:
    from catkin_pkg import package as manifests

    for folder, maintainer in ((ROOT, "maintainers@robodyn.invalid"), (package, "ada@lovelace.org")):
        warnings: list[str] = []
        found = manifests.parse_package(str(folder), warnings=warnings)
        found.validate(warnings)
        assert [person.email for person in found.maintainers] == [maintainer]
        assert found.licenses == ["Apache-2.0"]
        assert warnings == []


POINTS = """
1.i 1.ii 1.iii 1.iv 1.v 1.vi 2.i 2.ii 2.iii 2.iv 2.v 3.i 3.ii 3.iii 3.iv 3.v 3.v.a 3.v.b 3.v.c
4.i 4.ii 4.iii.a 4.iii.b 4.iv.a 4.iv.b 4.v.a 4.v.b 5.i 5.ii 5.iii 6.i 7.i
"""
"""The requirements of REP 2004, in its order."""

LEVEL_3 = ("1.i", "1.ii", "1.iv", "1.v", "2.i", "2.iv", "3.iii", "3.iv", "3.v.a", "3.v.c", "6.i")
LEVEL_4 = ("3.iii", "3.iv")
"""What REP 2004 requires for these levels."""


def test_the_declared_quality_is_that_of_its_points() -> None:
    text = (ROOT / "QUALITY_DECLARATION.md").read_text(encoding="utf-8")
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if re.match(r"\| \d\.[iv]", row)]
    assert [row[0] for row in rows] == POINTS.split()
    met = {row[0]: row[2].strip() in ("yes", "does not apply") for row in rows}
    assert all(met[point] for point in LEVEL_4)
    assert not all(met[point] for point in LEVEL_3)
    assert "**Quality Level 4**" in text
    assert ("| 1.ii | stable version | no |" in text) == rd.__version__.startswith("0.")
    for row in rows:
        if row[2].strip() == "yes":
            assert len(row) == 4, f"{row[0]}: no evidence"
    links = re.findall(r"\]\((?!https)([^)#]+)(?:#([^)]+))?\)", text)
    assert len(links) > 20
    for name, anchor in links:
        assert (ROOT / name).exists(), name
        titles = re.findall(r"^#+ (.+)$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in {title.lower().replace(" ", "-") for title in titles}, f"{name}#{anchor}"


CI = ROOT / ".github/workflows/ci.yaml"


def test_ci_runs_the_two_commands_where_ros_is_and_where_it_is_not() -> None:
    (job,) = yaml.safe_load(CI.read_text(encoding="utf-8"))["jobs"].values()
    matrix = job["strategy"]["matrix"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.search(r"## Two commands\n\n```bash\n((?:make \w+\n)+)```", readme)
    assert commands is not None
    assert [f"make {command}" for command in matrix["command"]] == commands[1].split("\n")[:-1]
    distributions = {path.stem.split("-")[1] for path in (ROOT / ".ci").glob("constraints-*.txt")}
    ros = {f"ros:{name}" for name in distributions}
    assert ros < set(matrix["container"])
    (plain,) = set(matrix["container"]) - ros
    assert plain.startswith("debian:")
    assert job["container"] == "${{ matrix.container }}"
    script = job["steps"][-1]["run"]
    assert script.splitlines()[-1] == "make ${{ matrix.command }}"
    assert "/opt/ros/*/setup.sh" in script
    installed = job["steps"][-2]["run"]
    for needed in ("make", "g++", "python3-venv"):
        assert needed in installed.split()


@pytest.mark.skipif(shutil.which("make") is None, reason="make not installed")
@pytest.mark.parametrize("distribution", ["", "jazzy", "kilted"])
def test_the_makefile_has_what_ci_calls(distribution: str) -> None:
    (job,) = yaml.safe_load(CI.read_text(encoding="utf-8"))["jobs"].values()
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DISTRO"}
    environment |= {"ROS_DISTRO": distribution} if distribution else {}
    for command in job["strategy"]["matrix"]["command"]:
        done = subprocess.run(
            ["make", "--dry-run", "--always-make", command],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert (".venv-sourced-" in done.stdout) == bool(distribution)
