"""The server's own TLS: a certificate and its key out of two files, or one sentence about what is wrong with them."""

from __future__ import annotations

import datetime
import errno
import os
import ssl
import stat
from pathlib import Path
from typing import NamedTuple

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError


class Tls(NamedTuple):
    """What a server speaks TLS with, and the fingerprint by which this account's commands know it."""

    context: ssl.SSLContext
    fingerprint: str


def read_tls(certificate: str | None, key: str | None) -> Tls | None:
    """Return what two files make, None for none; an empty name is one that was meant to be there."""
    if certificate is None and key is None:
        return None
    if not certificate or not key:
        missing = "--tls-cert" if not certificate else "--tls-key"
        raise _unusable(f"TLS needs a certificate and its key, and {missing} names no file", "Give both files.")
    for file in (certificate, key):
        _check_readable(file)
    fingerprint = _checked(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise _unusable(*_reason(error, certificate, key)) from None
    return Tls(context, fingerprint)


class _WantsPassword(ValueError):
    """A key that is encrypted."""


def _no_password() -> str:
    # Without it the process would ask on the terminal, which a service has not.
    raise _WantsPassword


def _reason(error: Exception, certificate: str, key: str) -> tuple[str, str]:
    if isinstance(error, _WantsPassword):
        return f"the key in {key} is protected by a password", "Give one without; protect its file instead."
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return f"the key in {key} does not belong to the certificate in {certificate}", "Give the two that do."
    if isinstance(error, ssl.SSLError) and (error.reason or "").endswith(("_TOO_SMALL", "_TOO_WEAK")):
        return f"the certificate in {certificate} is too weak for browsers", "Make one with a key of 2048 bits or more."
    return f"{key} holds no private key that can be read", "Give the key of the certificate, in PEM."


def _check_readable(file: str) -> None:
    try:
        found = Path(file).stat()
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # Not opened before that is known: a pipe would be waited for, and a device read for ever.
        if stat.S_ISREG(found.st_mode) and found.st_size <= limits.TLS_FILE_BYTES:
            with Path(file).open("rb"):
                return
    except OSError as error:
        raise _unusable(f"{file} cannot be read: {error.strerror}", "Check the path and its permissions.") from None
    raise _unusable(f"{file} is no file of a certificate or a key", "Give a certificate and its key, each in PEM.")


def _checked(file: str) -> str:
    """Return the fingerprint of the first certificate in a file, if browsers would take it today."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    try:
        certificate = x509.load_pem_x509_certificates(Path(file).read_bytes())[0]
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        fingerprint = certificate.fingerprint(SHA256()).hex()
    except (ValueError, IndexError):
        raise _unusable(f"{file} holds no certificate that can be read", "Give a certificate in PEM.") from None
    now = datetime.datetime.now(datetime.UTC)
    if now > end:
        raise _unusable(f"the certificate in {file} has expired on {end:%Y-%m-%d}", "Renew it.")
    if now < begin:
        raise _unusable(f"the certificate in {file} is not valid before {begin:%Y-%m-%d}", "Check the clock, or wait.")
    return fingerprint


def _unusable(what: str, fix: str) -> PilothouseError:
    return PilothouseError("bad_request", f"The server cannot use TLS: {what}.", fix=fix)
