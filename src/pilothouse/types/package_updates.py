"""Newer versions of packages that servers run: looked for when asked, and never taken without consent."""

from __future__ import annotations

from pilothouse.types.json import Body, Frozen
from pilothouse.types.servers import Consent

# What the list says of a server while its package is looked up; what there is to agree to is known after that.
LOOKING_UP = "Looking up its package..."


class PackageUpdate(Frozen, frozen=True):
    """What the registry has of a server's package."""

    # What is installed, and the newest there is; the same where nothing is newer.
    version: str
    newest: str
    # What the newer one would run; null where nothing is newer.
    consent: Consent | None = None
    # In one sentence.
    message: str = ""


class UpdateAgreed(Body, frozen=True):
    """The person agrees to exactly the version and the content that this fingerprint stands for."""

    version: str
    fingerprint: str
