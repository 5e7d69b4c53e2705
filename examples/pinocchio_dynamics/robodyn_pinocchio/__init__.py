"""Pinocchio as a dynamics plugin of robodyn_ros."""
