"""Faults: which states are usable, what counts as wrong, and what is sent while something is."""
