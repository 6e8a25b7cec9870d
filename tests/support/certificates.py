"""Self-signed certificates, made when they are asked for."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID


class SelfSigned:
    """A certificate for 127.0.0.1, localhost and other names, and the server's side of TLS with it."""

    def __init__(
        self, folder: Path, *, days: int = 2, key: rsa.RSAPrivateKey | None = None, more: Sequence[str] = ()
    ) -> None:
        self._make(folder, days, key or ec.generate_private_key(ec.SECP256R1()), more)

    def _make(
        self, folder: Path, days: int, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, more: Sequence[str]
    ) -> None:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        names += map(x509.DNSName, more)
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(end - datetime.timedelta(days=9))
            .not_valid_after(end)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(key, hashes.SHA256())
        )
        self.path = folder / f"certificate-{days}.pem"
        plain = serialization.NoEncryption()
        self.path.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        )
        self.fingerprint = hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()

    def server(self) -> ssl.SSLContext:
        """Return the context of a server that shows it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path)
        return context
