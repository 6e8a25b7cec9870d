"""How long the random faults of this folder go on, and by which seed they are chosen.

`scripts/test` takes a short sample of each simulation, with another seed each time; with TEST_LONG=1 each has its
minutes. SAMPLE_SEED repeats one, and FAULTS_SECONDS sets how long all of them together may take.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

from tests.support import sampling

Case = TypeVar("Case")

LONG = sampling.is_long()
SEED = int(sampling.seed())
# All simulations together; each takes its share.
SECONDS = float(os.environ.get("FAULTS_SECONDS") or (120 if LONG else 15))
# A generous timeout: only a hang exceeds it, however much there is to do.
AMPLE = 120.0 + SECONDS
# Whether that is long enough for chance to have brought every kind of fault.
ALL_KINDS = SECONDS >= 60


def seeded(share: float) -> float:
    """Print the seed of a simulation, and return how long it may take."""
    print(f"{sampling.SEED}={SEED} FAULTS_SECONDS={SECONDS:g}")
    return SECONDS * share


def some(cases: Sequence[Case], count: int, name: str) -> list[Case]:
    """Return so many of these cases in their order, all of them with TEST_LONG=1; each name has a choice of its own."""
    if LONG:
        return list(cases)
    print(f"{sampling.SEED}={SEED}")
    places = random.Random(f"{SEED} {name}").sample(range(len(cases)), min(count, len(cases)))
    return [cases[place] for place in sorted(places)]
