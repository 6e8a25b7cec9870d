"""What the tools of the web are made of, together."""

from __future__ import annotations

import msgspec

from pilothouse.tools.web.chosen import ChosenService
from pilothouse.tools.web.pages import Pages


class WebParts(msgspec.Struct, frozen=True):
    """Who reads pages, who searches, who makes pictures."""

    pages: Pages
    search: ChosenService
    pictures: ChosenService
