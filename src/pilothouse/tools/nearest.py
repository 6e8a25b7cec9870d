"""Which vectors are nearest to another."""

from __future__ import annotations

from collections.abc import Sequence


def nearest(vector: bytes, others: Sequence[bytes], most: int, least: float) -> list[int]:
    """Return the places of those that are at least so much alike, nearest first; takes a while, so in a thread.

    All are of length 1, as little-endian 16-bit floats; those of another length are of another model and left out.
    """
    places = [place for place, other in enumerate(others) if len(other) == len(vector)]
    if not places or not vector:
        return []
    # Imported here: where there are vectors it is installed, and a start that compares nothing does without.
    import numpy as np  # noqa: PLC0415

    joined = b"".join(others[place] for place in places)
    matrix = np.frombuffer(joined, "<f2").astype(np.float32).reshape(len(places), -1)
    likeness = matrix @ np.frombuffer(vector, "<f2").astype(np.float32)
    order = np.argsort(-likeness, kind="stable")[:most]
    return [places[at] for at in order.tolist() if likeness[at] >= least]
