"""A client document: who Pilothouse is, at an https address of the person's, which issuers take as a client id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.origins import is_loopback
from pilothouse.types.sign_ins import SIGN_IN_CALLBACK

CLIENT_NAME = "Pilothouse"
_ODD = re.compile(r"[^!-~]|[\\\"<>`{}|^]")


def document_problem(address: str) -> str:
    """Return why no issuer can take an address as a client id, in a sentence; empty if it can."""
    why = _why_not(address)
    return f"A client document cannot be at “{address[: limits.TITLE_CHARS]}”: {why}." if why else ""


def _why_not(address: str) -> str:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "that is not an address"
    if _ODD.search(address) or len(address) > limits.CLIENT_DOCUMENT_CHARS:
        return "that is not an address"
    if parts.scheme != "https" or not host:
        return "it must begin with https://"
    if "@" in parts.netloc:
        return "a user or a password is not part of it"
    if is_loopback(address):
        return "the place where you sign in must reach it, and cannot reach this machine"
    if "#" in address:
        return "nothing may follow a “#” in it"
    if parts.path.strip("/") == "" or {".", ".."} & set(parts.path.split("/")):
        return "a path must follow the host, such as /pilothouse.json"
    return ""


def client_document(address: str, origins: Iterable[str]) -> JsonObject:
    """Return the document for an address: a browser may be sent back to the sign-in callback of each origin."""
    back = [f"{origin}{SIGN_IN_CALLBACK}" for origin in dict.fromkeys(origins)]
    return {
        "client_id": address,
        "client_name": CLIENT_NAME,
        "redirect_uris": back,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": application_type(back),
    }


def application_type(redirects: Iterable[str]) -> str:
    """Return what issuers call a program with these redirects: one of this machine alone, or one of the web."""
    return "native" if all(is_loopback(each) for each in redirects) else "web"
