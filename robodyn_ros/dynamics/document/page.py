"""One HTML page that needs nothing else: no other file, no network."""

from __future__ import annotations

from html import escape


def page(title: str, style: str, body: str) -> str:
    """The text of the page.

    Args:
        title: for the browser's tab, as plain text.
        style: its CSS.
        body: what is on it, as HTML.
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
