"""C source → shared library, by the C compiler of the machine."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from robodyn_ros.errors import RobodynError

# No -ffast-math: NaN and infinity must survive to be seen. Contraction to fused multiply-add only ever rounds less.
FLAGS = (
    *("-O2", "-march=native", "-fno-math-errno", "-ffp-contract=fast"),
    *("-fPIC", "-shared", "-fno-semantic-interposition", "-fno-plt", "-w"),
)
LIBRARIES = ("-lm",)
TIMEOUT = 600.0  # [s]


class CompilationError(RobodynError):
    """The C compiler failed; the message ends with what it printed."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        command: the command that calls it.
        identity: a hash that changes with the compiler and its flags.
    """

    command: tuple[str, ...]
    identity: str

    def compile(self, source: str) -> bytes:
        """Compile C source to the content of a shared library.

        Raises:
            CompilationError: the compiler failed or took too long.
        """
        with tempfile.TemporaryDirectory(prefix="robodyn-") as folder:
            path = Path(folder, "code.c")
            library = Path(folder, "code.so")
            path.write_text(source)
            try:
                done = subprocess.run(
                    [*self.command, *FLAGS, str(path), "-o", str(library), *LIBRARIES],
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT,
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as cause:
                raise CompilationError(f"{shlex.join(self.command)}: {cause}") from cause
            if done.returncode != 0:
                raise CompilationError(f"{shlex.join(self.command)} failed: {done.stderr[-2000:].strip()}")
            return library.read_bytes()


def find_compiler() -> Compiler | None:
    """The compiler named by ``CC``, else ``cc``, ``gcc`` or ``clang``, or None."""
    return _find(os.environ.get("CC", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=8)
def _find(configured: str, _path: str) -> Compiler | None:
    candidates = [configured] if configured else ["cc", "gcc", "clang"]
    for candidate in candidates:
        try:
            command = shlex.split(candidate)
        except ValueError as cause:
            raise CompilationError(f"CC={candidate!r} is not a command: {cause}") from cause
        executable = shutil.which(command[0]) if command else None
        if executable is not None:
            real = os.path.realpath(executable)
            status = os.stat(real)
            facts = (command, real, status.st_size, status.st_mtime_ns, FLAGS, LIBRARIES)
            return Compiler((executable, *command[1:]), hashlib.sha256(repr(facts).encode()).hexdigest()[:16])
    return None


@lru_cache(maxsize=1)
def processor() -> str:
    """The processor's model and instruction sets, on which code compiled for this very processor depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
    except OSError:
        lines = []
    kept = [line for line in lines if line.split("\t", 1)[0] in {"model name", "flags", "Features", "CPU part"}]
    return "\n".join([platform.machine(), platform.processor(), *kept])
