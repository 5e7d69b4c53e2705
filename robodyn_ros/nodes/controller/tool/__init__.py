"""The tool: where it is to be, where it is, and what touches it."""
