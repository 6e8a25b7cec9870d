"""Fills a field of a dialog once the dialog has taken the focus, as a person who sees the cursor does.

A dialog takes the focus a moment after it opens. Playwright focuses a field and then inserts the text into whatever
has the focus, so on a busy machine the text could go elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from playwright.async_api import Locator

from tests.support.waiting import eventually

# The page itself has the focus when what had it was removed.
HAS_FOCUS = """(field) => {
  const dialog = field.closest("[aria-modal=true]");
  const focused = document.activeElement;
  return !dialog || dialog.contains(focused) || focused === document.body;
}"""


@contextmanager
def filling_with_focus() -> Iterator[None]:
    """Have `Locator.fill` wait for the dialog around its field."""
    fill = Locator.fill

    async def fill_with_focus(self: Locator, value: str, **options: Any) -> None:
        await eventually(lambda: self.evaluate(HAS_FOCUS), "a dialog to take the focus")
        await fill(self, value, **options)

    with mock.patch.object(Locator, "fill", fill_with_focus):
        yield
