"""Sweeps: many trials of an arm under control, over parameters that vary, and what they show."""
