"""Estimation of the arm's parameters from samples of motion."""
