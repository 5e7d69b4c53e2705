"""Motions: trajectories, and how they are made."""
