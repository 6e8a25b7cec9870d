"""A process of the product with other limits, for tests in which the length of a wait is not the promise.

python -m tests.faults.limited LEASE_DEAD=2.5,QUEUE_POLL=0.5 MODULE ARGUMENTS…
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping

from pilothouse.types import limits

# How soon a process that says nothing is taken for dead, and what hangs on that, in the proportions of the product. A
# process that lives may look dead by these where the machine has much else to do: they are for tests that allow that.
SOON: Mapping[str, float] = {
    "LEASE_RENEW": 0.3,
    "LEASE_DEAD": 1.6,
    "WORKER_QUIET": 4.0,
    "QUEUE_POLL": 0.4,
    "FORGOTTEN_EVERY": 2.0,
}


def module_with(values: Mapping[str, float], module: list[str]) -> list[str]:
    """Return the module, with its arguments, that runs another one with these limits."""
    if not values:
        return module
    return ["tests.faults.limited", ",".join(f"{name}={value}" for name, value in values.items()), *module]


def set_limits(given: str) -> None:
    """Set limits of this process; each must be there, and keeps its type."""
    for name, _, value in (one.partition("=") for one in given.split(",")):
        kind = type(getattr(limits, name))
        setattr(limits, name, kind(value))


if __name__ == "__main__":
    set_limits(sys.argv[1])
    module, *arguments = sys.argv[2:]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
