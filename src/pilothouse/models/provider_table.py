"""Providers by name: how a configured model finds its row of the table, and whose a host is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from pilothouse.models.copilot_login import saved_token
from pilothouse.models.provider_rows import ROWS, Row
from pilothouse.types.models import ModelConfig, Signing

_BLANK = re.compile(r"\{(\w+)\}")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
# Where a person's own part of an address may stand in the environment.
_BLANKS: dict[str, tuple[str, ...]] = {
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "project": ("GOOGLE_CLOUD_PROJECT",),
    "resource": (),
    "deployment": (),
}
# What says that this machine has credentials.
_SIGNS: dict[Signing, tuple[str, ...]] = {
    "aws": ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
    "google": ("GOOGLE_APPLICATION_CREDENTIALS",),
}
_FITS = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")


@cache
def rows() -> dict[str, Row]:
    """Return all providers by their ids, in the order in which people are shown them."""
    return {row.id: row for row in ROWS}


def is_known(name: str) -> bool:
    """Return whether there is a provider of this name."""
    return name in rows()


def row_named(name: str) -> Row | None:
    """Return the provider of this id, or with the name that people are shown, however they type it."""
    if (row := rows().get(name)) is not None:
        return row
    wanted = _letters(name)
    return next((row for row in rows().values() if wanted in (_letters(row.id), _letters(row.name))), None)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def source_in(row: Row, environ: Mapping[str, str]) -> str:
    """Return the key source that the environment has for a provider; empty for none."""
    if variable := next((name for name in row.variables if environ.get(name)), ""):
        return f"env:{variable}"
    if row.signs == "copilot":
        return row.signs if saved_token(environ) else ""
    return row.signs if any(environ.get(name) for name in _SIGNS.get(row.signs, ())) else ""


def kept_as(row: Row) -> str:
    """Return a row's id as a model keeps it: nothing where the wire says it already."""
    return "" if row.id == row.wire else row.id


def row_of(config: ModelConfig) -> Row | None:
    """Return a configured model's row: the one it names, else the one at its address."""
    if config.service:
        return rows().get(config.service)
    host = _host(config.base_url)
    if not host:
        return rows().get(config.provider)
    near = _at(host)
    return next((row for row in near if row.wire == config.provider), near[0] if near else None)


def belongs(variable: str, origin: str) -> bool | None:
    """Return whether a well-known variable's key belongs at an origin; None when nobody knows the variable."""
    known = [row for row in rows().values() if variable in (*row.variables, *row.guarded)]
    return any(is_at(row, origin) for row in known) if known else None


def signs_at(kind: str, origin: str) -> bool:
    """Return whether requests to an origin may be signed with what this machine has for one of its kind."""
    return any(row.signs == kind and is_at(row, origin) for row in rows().values())


def filled(address: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return an address with its blanks filled from the environment, as far as they stand there."""

    def value(match: re.Match[str]) -> str:
        found = next((environ[name] for name in _BLANKS.get(match[1], ()) if environ.get(name)), "")
        return found if _FITS.fullmatch(found) else match[0]

    return _BLANK.sub(value, address)


def blank_in(address: str) -> str:
    """Return the first blank that an address still has; empty for none."""
    found = _BLANK.search(address)
    return found[1] if found else ""


def blanks_of(row: Row, url: str) -> dict[str, str]:
    """Return what stands in an address where the row's hosts have a blank."""
    found = _match(row, _host(url))
    return {name: value for name, value in found.groupdict().items() if value} if found else {}


def _at(host: str) -> list[Row]:
    return [row for row in rows().values() if _match(row, host)]


def is_at(row: Row, origin: str) -> bool:
    """Return whether an origin is the provider's own: its host, over TLS, at the usual port."""
    parts = urlsplit(origin)
    if (parts.scheme, parts.port) != ("https", 443):
        return False
    return _match(row, parts.hostname or "") is not None


def _match(row: Row, host: str) -> re.Match[str] | None:
    """Return how a host is one of the row's; None if it is none of them."""
    # What people run themselves may be anywhere, also where another server has its usual port.
    hosts = () if row.local else (_host(row.base_url), *row.hosts)
    # How it ends tells nearly all of them apart, and to compile an expression for each takes longer than all the rest.
    near = (each for each in hosts if each and host.endswith(each.rpartition("}")[2]))
    return next((found for each in near if (found := _compiled(each).fullmatch(host))), None)


@cache
def _compiled(host: str) -> re.Pattern[str]:
    return re.compile(_expression(host))


def _expression(host: str) -> str:
    """Return a host as an expression; a blank in it is one label and never more."""
    parts = _BLANK.split(host)
    return "".join(f"(?P<{part}>{_LABEL})" if at % 2 else re.escape(part) for at, part in enumerate(parts))


def _host(url: str) -> str:
    # Not `urlsplit`: a blank is no host for it in every version.
    found = re.match(r"https?://([^/?#:]+)", url.strip())
    return found[1].lower() if found else ""
