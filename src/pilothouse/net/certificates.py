"""Whom a TLS connection trusts: the machine's roots, or exactly one certificate that the person accepted."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
from functools import cache

from pilothouse.types import limits


@cache
def roots() -> ssl.SSLContext:
    """Return the context that trusts what this machine trusts, loaded once: it takes 0.1 s."""
    # Only for TLS: importing it takes as long as much else that a first answer waits for.
    import httpx2  # noqa: PLC0415

    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@cache
def no_tls() -> ssl.SSLContext:
    """Return a context for connections that use no TLS: should one do so after all, it fails."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def pinned(fingerprint: str) -> ssl.SSLContext:
    """Return a context that trusts the certificate with this SHA-256 fingerprint and no other, whoever signed it."""
    wanted = plain(fingerprint)

    class Pinned(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            # Nothing of ours has been sent by now.
            if not hmac.compare_digest(fingerprint_of(self.getpeercert(binary_form=True)), wanted):
                error = ssl.SSLCertVerificationError("certificate differs")
                error.verify_message = "it is another one than the one you accepted"
                raise error

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.sslobject_class = Pinned
    return context


def plain(fingerprint: str) -> str:
    """Return a fingerprint as lower-case digits, without the colons and the prefix that people copy along."""
    return fingerprint.lower().removeprefix("sha256").strip(": \n").replace(":", "").replace(" ", "")


def fingerprint_of(certificate: bytes | None) -> str:
    """Return the SHA-256 fingerprint of a certificate as hexadecimal digits."""
    return hashlib.sha256(certificate or b"").hexdigest()


async def shown_by(host: str, port: int) -> str:
    """Return the fingerprint of the certificate that a server shows, empty when none can be had; nothing is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(limits.CONNECT_TIMEOUT):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
    except (OSError, TimeoutError):
        return ""
    try:
        tls = writer.get_extra_info("ssl_object")
        return fingerprint_of(tls.getpeercert(binary_form=True))
    finally:
        writer.transport.abort()
