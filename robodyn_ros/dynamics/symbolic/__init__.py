"""The equations of small arms as people write them, with letters for masses and lengths; it needs SymPy."""
