"""Places that a tool does not touch on a general permission: secrets, and whatever runs without being called."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types import self_starting

# "own" is this program's; a "secret" is neither read nor written; what "starts" by itself is not written.
Kind = Literal["own", "secret", "starts"]
Parts = tuple[str, ...]


class Place(msgspec.Struct, frozen=True):
    """A file or a folder with everything in it."""

    parts: Parts
    kind: Kind
    why: str


def _places(kind: Kind, why: str, *paths: str) -> tuple[Place, ...]:
    return tuple(Place(tuple(path.split("/")), kind, why) for path in paths)


_KEYS = "It holds keys or passwords."
_SHELL = "It runs whenever a shell starts."
_SESSION = "It starts programs by itself."
_GIT = "It decides what git runs."
_CI = "It decides what the build server runs."
_EDITOR = "It decides what an editor runs."
_AGENTS = "It decides what an assistant may do or start."

# Below the person's home folder.
HOME = (
    *_places("secret", _KEYS, ".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker/config.json"),
    *_places("secret", _KEYS, ".netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".config/gh"),
    *_places("secret", _KEYS, ".local/share/keyrings", ".password-store", "Library/Keychains"),
    *_places("secret", _KEYS, ".mozilla", ".config/google-chrome", ".config/chromium"),
    *_places("starts", _SHELL, *self_starting.SHELLS),
    *_places("starts", _SESSION, *self_starting.SESSIONS),
    *_places("starts", _GIT, *self_starting.OWN_GIT),
    *_places("starts", _EDITOR, *self_starting.OWN_EDITORS),
)

# Wherever they stand.
ANYWHERE = (
    *_places("starts", _GIT, ".git", "git~1", *self_starting.GIT),
    *_places("starts", _CI, *self_starting.BUILD_SERVERS),
    *_places("starts", _EDITOR, *self_starting.EDITORS),
    *_places("starts", _AGENTS, *self_starting.AGENTS),
    *_places("secret", _KEYS, ".ssh", "authorized_keys", "id_rsa", "id_ed25519", "id_ecdsa", ".git-credentials"),
)

# The last name of a path: a folder with such a file, and a few more, is a repository to git, settings and all.
REPOSITORY_FILE = Place(("head",), "starts", _GIT)

# From the root of the disk.
SYSTEM = (
    *_places("secret", "It is what running programs hold.", "proc"),
    *_places("secret", _KEYS, "etc/shadow", "etc/gshadow", "etc/sudoers", "etc/sudoers.d", "etc/ssh"),
    *_places("starts", _SESSION, "etc/crontab", "etc/cron.d", "etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly"),
    *_places("starts", _SESSION, "etc/cron.monthly", "var/spool/cron", "etc/systemd", "etc/init.d", "etc/rc.local"),
    *_places("starts", _SESSION, "usr/lib/systemd", "lib/systemd", "etc/ld.so.preload", "etc/passwd", "etc/pam.d"),
    *_places("starts", _SHELL, "etc/profile", "etc/profile.d", "etc/bash.bashrc", "etc/zsh", "etc/environment"),
)

PROGRAM = "It is where programs are found."
ITSELF = "It is what Pilothouse runs from."
OWN = "It belongs to Pilothouse itself: its settings, its secrets, what it remembers."
