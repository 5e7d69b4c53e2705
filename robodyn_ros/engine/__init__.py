"""From CasADi expressions to calls that cost less than a microsecond. Knows nothing of robots."""

from robodyn_ros.engine.compiler import find_compiler
from robodyn_ros.engine.kernel import Kernel
from robodyn_ros.engine.program import Program, digest

__all__ = ["Kernel", "Program", "digest", "find_compiler"]
