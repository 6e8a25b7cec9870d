"""Requests signed for AWS (Signature Version 4), with the credentials of this machine."""

from __future__ import annotations

import asyncio
import configparser
import hashlib
import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec

from pilothouse.models.signing import Outgoing
from pilothouse.net.reply import Fetched, Reply
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home

# How AWS writes a time.
STAMP = "%Y%m%dT%H%M%SZ"
_ALGORITHM = "AWS4-HMAC-SHA256"
# What a proxy or our own client may change on the way.
_UNSIGNED = frozenset({"authorization", "connection", "expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"})
_FIX = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write a profile with “aws configure”, or use a Bedrock API key."
)
# Ways to sign in that need the aws tools themselves.
_OTHER_WAYS = ("sso_session", "sso_start_url", "credential_process", "role_arn", "web_identity_token_file")
_EXPORT = "Let the aws tools write them out (aws configure export-credentials), or use a Bedrock API key."
_SKEW = timedelta(seconds=limits.AWS_SKEW)


class Credentials(msgspec.Struct, frozen=True):
    """Who signs; a token belongs to credentials that pass."""

    access_key: str
    secret_key: str
    token: str = ""


class Scope(msgspec.Struct, frozen=True):
    """What a signature is good for."""

    region: str
    service: str


def sign(request: Outgoing, credentials: Credentials, scope: Scope, now: datetime) -> dict[str, str]:
    """Return the request's headers with the signature among them; `now` is in UTC."""
    stamp = now.strftime(STAMP)
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() != "authorization"}
    headers.setdefault("host", urlsplit(request.url).netloc.rpartition("@")[2])
    headers["x-amz-date"] = stamp
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = sorted(name for name in headers if name not in _UNSIGNED)
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
    parts = urlsplit(request.url)
    payload = hashlib.sha256(request.body).hexdigest()
    canonical = "\n".join(
        (request.method, _path(parts.path), _query(parts.query), lines, ";".join(names), payload),
    )
    area = f"{stamp[:8]}/{scope.region}/{scope.service}/aws4_request"
    to_sign = f"{_ALGORITHM}\n{stamp}\n{area}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(_key(credentials.secret_key, stamp[:8], scope), to_sign.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{area}, "
        f"SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    return headers


def _path(path: str) -> str:
    """Return the path encoded once more than it is sent, which every service but S3 wants."""
    return quote(path or "/", safe="/~")


def _query(query: str) -> str:
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return "&".join(f"{name}={value}" for name, value in sorted((name, value) for name, _, value in pairs))


def _key(secret: str, day: str, scope: Scope) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, scope.region, scope.service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def find_credentials(profile: str = "", environ: Mapping[str, str] = os.environ) -> Credentials:
    """Return the credentials of a profile, by default those in the environment; raise one that says what is missing."""
    # As the aws tools do: a profile that is asked for by its name counts before the keys, AWS_PROFILE after them.
    if not profile and (found := _of(environ, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")):
        return found
    chosen = profile or environ.get("AWS_PROFILE") or "default"
    said: dict[str, str] = {}
    for variable, name in (("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")):
        section = _profile(_file(environ, variable, name), chosen)
        if found := _of(section, "aws_access_key_id", "aws_secret_access_key", "aws_session_token"):
            return found
        said |= section
    if not said.keys().isdisjoint(_OTHER_WAYS):
        message = f"The AWS profile “{chosen}” signs in through the aws tools; its credentials are in no file."
        raise PilothouseError("no_key", message, fix=_EXPORT)
    raise PilothouseError("no_key", f"There are no AWS credentials in the profile “{chosen}”.", fix=_FIX)


def _of(values: Mapping[str, str], access: str, secret: str, token: str) -> Credentials | None:
    found = tuple(values.get(name, "").strip() for name in (access, secret, token))
    return Credentials(*found) if found[0] and found[1] else None


def _file(environ: Mapping[str, str], variable: str, name: str) -> Path:
    return at_home(environ.get(variable) or Path.home() / ".aws" / name)


def _profile(path: Path, name: str) -> dict[str, str]:
    """Return what a file says about a profile; nothing where there is none of either."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        with path.open(encoding="utf-8-sig") as file:
            parser.read_string(file.read(limits.AWS_FILE_CHARS))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be opened") from None
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not text") from None
    except configparser.Error as error:
        raise _unreadable(path, _where(error)) from None
    for section in (name, f"profile {name}"):
        if parser.has_section(section):
            return dict(parser[section])
    return {}


def _unreadable(path: Path, why: str) -> PilothouseError:
    return PilothouseError("no_key", f"The AWS credentials in {path} cannot be read: {why}.", fix=_FIX)


def _where(error: configparser.Error) -> str:
    """Return the place of a mistake, and nothing of the line: it may hold a secret."""
    lines = [error.lineno] if isinstance(error, configparser.MissingSectionHeaderError) else []
    if isinstance(error, configparser.ParsingError) and not lines:
        lines = [number for number, _text in error.errors]
    return f"line {lines[0]} is neither a section nor a setting" if lines else "it has another form"


class AwsSigner:
    """Signs with the AWS credentials of this machine, read anew each time: they pass."""

    def __init__(self, profile: str, scope: Scope) -> None:
        self._profile = profile
        self._scope = scope
        # How far AWS's clock is ahead of ours, once a refusal said so.
        self._ahead = timedelta()

    async def signed(self, request: Outgoing) -> Outgoing:
        """Return the request with a signature."""
        credentials = await asyncio.to_thread(find_credentials, self._profile)
        now = datetime.now(UTC) + self._ahead
        return msgspec.structs.replace(request, headers=sign(request, credentials, self._scope, now))

    def drop(self, sent: Mapping[str, str], refusal: Reply | Fetched) -> bool:
        """Return whether another signature would help: one by AWS's clock, where the one sent was by a wrong one."""
        try:
            theirs = parsedate_to_datetime(refusal.header("date"))
            off = theirs - datetime.strptime(sent["x-amz-date"], STAMP).replace(tzinfo=UTC)
        except (TypeError, ValueError, OverflowError):
            return False
        if refusal.status != 403 or abs(off) < _SKEW:
            return False
        self._ahead = theirs - datetime.now(UTC)
        return True
