# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The contract of ``robodyn_ros.control.laws.base`` as tests for any law, by its entry-point name::

    pytest --pyargs robodyn_ros.control.conformance --controller mine

``--tier`` sets the required accuracy of the law: ``exact`` (the default), ``numerical`` for a law that iterates, or
``learned`` for one that was fitted to data. Without ``--controller`` every installed law is tested; it may be given
several times. Each test is one clause, and its docstring has the requirement. The laws are made as the control loop
makes them: with a model, gains of each joint, and the defaults of their settings. Clauses about tracing are skipped for
a law that cannot be traced, and ``pytest -rs`` shows the reason.
"""
