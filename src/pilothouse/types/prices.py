"""What tokens cost."""

from __future__ import annotations

import msgspec

from pilothouse.types import limits
from pilothouse.types.stream import Usage

_MILLION = 1_000_000
_NAMES = ("input", "output", "cache_read", "cache_write")


class Prices(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """What a model's tokens cost, in dollars for a million of them."""

    input: float
    output: float
    # None is the price of other input.
    cache_read: float | None = None
    cache_write: float | None = None
    # A request with more input than this costs `beyond`, from its first token on; 0 where it makes no difference.
    above: int = 0
    beyond: Prices | None = None

    def cost(self, usage: Usage) -> float:
        """Return about what a request cost, in dollars; what was cached is at its own price."""
        if self.beyond is not None and usage.input > self.above:
            return self.beyond.cost(usage)
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, usage.input - usage.cache_read - usage.cache_write)
        total = fresh * self.input + usage.cache_read * read + usage.cache_write * write + usage.output * self.output
        return total / _MILLION


def dollars(amount: float) -> str:
    """Return an amount of money with as many digits as say something."""
    if 0 < amount < 0.0001:
        return "less than $0.0001"
    return f"${float(f'{amount:.2g}'):f}".rstrip("0") if 0 < amount < 0.1 else f"${amount:,.2f}"


def price_problem(prices: Prices) -> str:
    """Return what is wrong with prices that a person set; nothing where they can be."""
    for each in (prices, prices.beyond):
        given = (getattr(each, name) for name in _NAMES) if each is not None else ()
        # Written so that what is no number is refused, too.
        if any(price is not None and not 0 <= price <= limits.PRICE_MOST for price in given):
            return f"A price is a number from 0 to {limits.PRICE_MOST:,}, in dollars for a million tokens."
    return ""
