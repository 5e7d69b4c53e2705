# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From CasADi expressions to calls that cost less than a microsecond. Knows nothing of robots.

The path from a program to a call, one file a step:

1. :mod:`~robodyn_ros.engine.program`: a :class:`Program` names a function, its inputs and its outputs, and knows how to
   build the CasADi expressions. Its key, a :func:`digest`, tells it from all others.
2. :mod:`~robodyn_ros.engine.kernel`: a :class:`Kernel` owns the arrays of a program and asks for its library.
3. :mod:`~robodyn_ros.engine.library`: the library comes from the cache. Only if there is none, the steps 4 to 6 follow.
4. :mod:`~robodyn_ros.engine.listing`: the expressions become C statements, one operation each.
5. :mod:`~robodyn_ros.engine.codegen`: the statements become a C file, for one state or for many at once.
6. :mod:`~robodyn_ros.engine.library`: the C compiler makes a shared library of it, and the cache keeps it.
7. The kernel binds the library's function to its arrays. Its ``call`` checks the arguments
   (:mod:`~robodyn_ros.checks`), runs the function and copies the result.

Without a compiler CasADi's virtual machine runs the expressions instead of the steps 3 to 7.
"""

from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.kernel import Kernel
from robodyn_ros.engine.library import find_compiler
from robodyn_ros.engine.program import Program, digest

__all__ = ["Kernel", "Program", "ca", "digest", "find_compiler"]
