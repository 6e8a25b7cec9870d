"""How long and by which seed the faults of this folder come at random."""

from __future__ import annotations

import os

SEED = int(os.environ.get("FAULTS_SEED", "7"))
# All simulations together; each takes its share.
SECONDS = float(os.environ.get("FAULTS_SECONDS", "120"))


def seeded(share: float) -> float:
    """Say by which seed a simulation runs, and return how long it may take."""
    print(f"FAULTS_SEED={SEED} FAULTS_SECONDS={SECONDS:g}")
    return SECONDS * share
