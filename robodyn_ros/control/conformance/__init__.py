# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The contract of ``robodyn_ros.control.laws.base`` as tests that any law can be put through, by its entry-point name::

    pytest --pyargs robodyn_ros.control.conformance --controller mine

``--tier`` says how exact the law claims to be: ``exact`` (the default), ``numerical`` for a law that iterates, or
``learned`` for one that was fitted to data. Without ``--controller`` every installed law is tested; it may be given
several times. Each test is one clause; its docstring says what the clause asks for. The laws are made as the control
loop makes them: a model, gains of each joint, and the defaults of their settings. A law that cannot be traced is
skipped by the clauses about tracing, and the reason is shown by ``pytest -rs``.
"""
