# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Objects that show themselves in a few lines: as text at a prompt, and as a table in a notebook."""

from __future__ import annotations

from robodyn_ros.document.blocks import Block


class Summarised:
    """A base of classes whose objects are told by blocks.

    ``repr`` is their text, and ``_repr_html_``, which Jupyter asks for, their HTML; both escape what stands in a URDF.
    """

    def summary(self) -> tuple[Block, ...]:
        """Return the blocks that tell the object."""
        raise NotImplementedError

    def __repr__(self) -> str:
        from robodyn_ros.document.text import block_text

        try:
            return block_text(self.summary())
        except AttributeError:  # of an object whose constructor has not come to its end
            return object.__repr__(self)

    def _repr_html_(self) -> str:
        from robodyn_ros.document.html import block_html

        return block_html(self.summary())
