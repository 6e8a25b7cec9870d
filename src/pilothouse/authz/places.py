"""Places that a tool does not touch on a general permission: secrets, and whatever runs without being called."""

from __future__ import annotations

from typing import Literal

import msgspec

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
    *_places("starts", _SHELL, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *_places("starts", _SHELL, ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
    *_places("starts", _SHELL, ".login", ".inputrc", ".config/fish", ".config/environment.d", ".pam_environment"),
    *_places("starts", _SESSION, ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".config/autostart"),
    *_places("starts", _SESSION, ".config/systemd", ".local/share/systemd", "Library/LaunchAgents"),
    *_places("starts", _GIT, ".gitconfig", ".config/git"),
    *_places("starts", _EDITOR, ".vimrc", ".vim", ".config/nvim", ".emacs", ".emacs.d"),
)

# Wherever they stand.
ANYWHERE = (
    *_places("starts", _GIT, ".git", "git~1", ".githooks", ".husky", ".pre-commit-config.yaml", ".gitmodules"),
    *_places("starts", _CI, ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".travis.yml"),
    *_places("starts", _CI, "jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml"),
    *_places("starts", _CI, ".woodpecker.yml", ".woodpecker", ".forgejo/workflows", ".gitea/workflows"),
    *_places("starts", _EDITOR, ".vscode", ".idea", ".zed", ".devcontainer", ".devcontainer.json", ".envrc"),
    *_places("starts", _AGENTS, ".mcp.json", ".cursor", ".claude", ".gemini", ".codex", ".windsurf"),
    *_places("secret", _KEYS, ".ssh", "authorized_keys", "id_rsa", "id_ed25519", "id_ecdsa", ".git-credentials"),
)

# From the root of the disk.
SYSTEM = (
    *_places("secret", "It is what running programs hold.", "proc"),
    *_places("secret", _KEYS, "etc/shadow", "etc/gshadow", "etc/sudoers", "etc/sudoers.d", "etc/ssh"),
    *_places("starts", _SESSION, "etc/crontab", "etc/cron.d", "etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly"),
    *_places("starts", _SESSION, "etc/cron.monthly", "var/spool/cron", "etc/systemd", "etc/init.d", "etc/rc.local"),
    *_places("starts", _SESSION, "usr/lib/systemd", "lib/systemd", "etc/ld.so.preload", "etc/passwd", "etc/pam.d"),
    *_places("starts", _SHELL, "etc/profile", "etc/profile.d", "etc/bash.bashrc", "etc/zsh", "etc/environment"),
)

OWN = "It belongs to Pilothouse itself: its settings, its secrets, what it remembers."
