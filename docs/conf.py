# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Configuration of Sphinx, which makes the site of the documentation: `make docs`.

Sphinx, not MkDocs: MkDocs 1 and its Material theme are no longer developed, and Sphinx knows Python objects by itself.
"""

import sys
from pathlib import Path
from time import monotonic

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from robodyn_ros import __version__  # noqa: E402

project = "robodyn_ros"
author = "robodyn_ros maintainers"
project_copyright = "robodyn_ros maintainers, Apache-2.0"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "shown",
    "drawn",
    "tables",
    "generated",
    "library",
]
exclude_patterns = ["_ext", "_static"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
math_number_all = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_use_type_comments = False  # there are none, and each search parses a module
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike")}
python_use_unqualified_type_names = True
# The theme goes through the whole tree for each page: with 6,000 objects in it, about a second.
toc_object_entries = False
suppress_warnings = [
    "ref.python"
]  # a letter of a formula that is the name of more than one thing

html_theme = "furo"
html_title = f"robodyn_ros {__version__}"
html_static_path = ["_static", "../robodyn_ros/document/math.woff2"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def page_language(app, pagename, templatename, context, doctree):
    """Set the language of a Korean page, by which a browser chooses fonts and hyphenation."""
    if "/ko/" in pagename:
        context["language"] = "ko"


PERIOD = 4.0
"""Least time between two lines of progress [s]."""

told = [monotonic()]


def tell(doing, page):
    """Print the page in progress every few seconds: the programs of the pages take minutes."""
    if monotonic() - told[0] > PERIOD:
        told[0] = monotonic()
        print(f"{doing} {page}", file=sys.stderr, flush=True)


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", page_language)
    app.connect("source-read", lambda app, page, source: tell("reading", page))
    app.connect("doctree-resolved", lambda app, doctree, page: tell("writing", page))
