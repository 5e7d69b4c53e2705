"""Motions: trajectories, and how they are made within the limits of the arm."""
