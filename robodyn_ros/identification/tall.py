"""QR decomposition of tall matrices, in pieces.

The triangle of a whole is that of the triangles of its parts, stacked (Demmel, Grigori, Hoemmen and Langou,
Communication-optimal parallel and sequential QR and LU factorizations, SIAM J. Scientific Computing 34(1), 2012). Each
piece is so small that the BLAS library does it in one thread: several threads gain nothing at this size, and where they
wait for each other's turn on a busy machine they lose a hundredfold.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array

ELEMENTS = 8192
"""Of a piece, about."""


def triangle(matrix: Array) -> Array:
    """R (k, k) of a matrix (m, k) with RᵀR = matrixᵀ matrix; rows of zeros where m is less than k."""
    width = matrix.shape[1]
    rows = max(2 * width, ELEMENTS // width)
    pieces = _pieces(matrix, rows)
    while len(pieces) > 1:
        reduced = np.asarray(np.linalg.qr(pieces, mode="r")).reshape(-1, width)
        pieces = _pieces(reduced, max(2 * width, rows // width * width))
    found: Array = np.asarray(np.linalg.qr(pieces[0], mode="r"))
    return found


def product(matrix: Array, vector: Array) -> Array:
    """The product of (m, k) and (k,), in one thread for the same reason."""
    found: Array = np.einsum("ij,j->i", matrix, vector)
    return found


def _pieces(matrix: Array, rows: int) -> Array:
    """The matrix in pieces (·, rows, k), the last one filled up with zeros."""
    count = -(-len(matrix) // rows)
    filled = np.zeros((count * rows, matrix.shape[1]))
    filled[: len(matrix)] = matrix
    return filled.reshape(count, rows, -1)
