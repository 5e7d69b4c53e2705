"""Planning: the best motions that the arm's own dynamics allow.

A :class:`~robodyn_ros.planning.problem.Problem` says what is asked. Collocation (:mod:`.collocation.collocation`), iLQR
(:mod:`.ddp.ilqr`) and time scaling (:mod:`.time_scaling`) find a motion, and :mod:`.mpc` is the control law that plans
again every few states.
"""
