"""Modules that several nodes use."""
