"""The equations of small arms as people write them, with symbols for masses and lengths; it needs SymPy."""
