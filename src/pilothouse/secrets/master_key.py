"""The key that the files with secrets are encrypted with."""

from __future__ import annotations

import base64
import contextlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from pilothouse.types import durable_files
from pilothouse.types.errors import PilothouseError

CREDENTIAL = "pilothouse-master-key"
FILE_VARIABLE = "PILOTHOUSE_MASTER_KEY_FILE"
FILE_NAME = "master.key"
MIN_BYTES = 32


def master_key_path(folder: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the master key is: systemd's credentials, a mounted file, or our own."""
    if credentials := environ.get("CREDENTIALS_DIRECTORY"):
        credential = Path(credentials) / CREDENTIAL
        if credential.is_file():
            return credential
    if mounted := environ.get(FILE_VARIABLE):
        return Path(mounted).expanduser()
    return folder / FILE_NAME


def master_key(folder: Path, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the 32 bytes to encrypt with; our own key file is made at the first call."""
    path = master_key_path(folder, environ)
    if path == folder / FILE_NAME:
        _make(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        fix = f"Make it readable, or unset {FILE_VARIABLE} to use a key of our own."
        raise PilothouseError("no_key", f"The master key {path} cannot be read: {reason}.", fix=fix) from None
    # A line break after a key in text is no part of it; of random bytes every one is.
    material = content.strip() if content.isascii() else content
    if len(material) < MIN_BYTES:
        fix = "Make a new one with: openssl rand -base64 32"
        raise PilothouseError("no_key", f"The master key {path} is too short; it needs {MIN_BYTES} bytes.", fix=fix)
    # Any file of enough random bytes will do, in whatever encoding: this makes it 32 bytes.
    return hmac.digest(b"pilothouse secrets 1", material, "sha256")


def _make(path: Path) -> None:
    if path.exists():
        mode = stat.S_IMODE(path.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            path.chmod(0o600)
        return
    # Made aside and linked: of two processes that begin together one wins, and no one reads half a key.
    aside = path.with_name(f".{FILE_NAME}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(32)) + b"\n")
            file.flush()
            durable_files.sync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
            durable_files.sync_names(path.parent)
    finally:
        aside.unlink()
