"""A document of prose, formulas and tables, and the formats that it is written in.

Formulas are LaTeX everywhere in it; for terminals and browsers they are read and written anew, by this package alone.
"""
