"""Places that no command may look into: our own data, keys, tokens, and what browsers and shells remember."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

# Below the person's home folder.
_IN_HOME = (
    ".ssh", ".gnupg", ".aws", ".azure", ".oci", ".kube", ".docker", ".boto", ".s3cfg", ".netrc", ".pgpass", ".my.cnf",
    ".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".vault-token", ".Xauthority", ".ICEauthority",
    ".password-store", ".pki", ".mozilla", ".thunderbird", ".claude", ".claude.json", ".codex", ".gemini",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json",
    ".m2/settings.xml", ".gradle/gradle.properties",
    ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".config/git/credentials", ".config/op",
    ".config/rclone", ".config/sops", ".config/age", ".config/doctl", ".config/hcloud", ".config/containers/auth.json",
    ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
    ".config/github-copilot", ".config/Signal", ".config/Slack", ".config/discord", ".config/Bitwarden",
    ".local/share/keyrings", ".local/share/kwalletd", ".local/share/pilothouse", ".config/pilothouse",
    ".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".psql_history",
    ".mysql_history", ".sqlite_history", ".node_repl_history", ".lesshst", ".viminfo",
    "Library/Keychains", "Library/Application Support/pilothouse", "Library/Cookies",
)  # fmt: skip
# For a host that runs as root; anyone else cannot read these anyway.
_OF_THE_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/ssh", "/etc/krb5.keytab", "/var/lib/sss", "/var/spool/cron",
)  # fmt: skip

# What the sandbox has for itself: nothing of the machine's own is there.
EMPTIED = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 - named to be kept out
# Nothing is held in here: to let a command write there is to give it the machine.
_MACHINE = ("/proc", "/sys", "/dev")
_UNIX_SOCKETS = "/proc/net/unix"


def hidden_places(data_folder: Path, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what is hidden from every command and exists now, links resolved, none inside another."""
    home = environ.get("HOME") or os.path.expanduser("~")
    wanted = [str(data_folder), *(f"{home}/{name}" for name in _IN_HOME), *_OF_THE_SYSTEM]
    for variable, usual in (("XDG_CONFIG_HOME", ".config/"), ("XDG_DATA_HOME", ".local/share/")):
        if moved := environ.get(variable):
            wanted += [f"{moved}/{name.removeprefix(usual)}" for name in _IN_HOME if name.startswith(usual)]
    return outermost(os.path.realpath(path) for path in wanted if os.path.lexists(path))


def is_the_machines(folder: str) -> bool:
    """Return whether a folder is one in which no command can be held."""
    return folder in ("/", "/run") or any(is_in(folder, place) for place in _MACHINE)


def services() -> tuple[str, ...]:
    """Return the sockets of this machine's services, wherever they stand.

    One that can only be read can still be connected to; what listens there does what it is told outside.
    """
    try:
        with open(_UNIX_SOCKETS, encoding="utf-8", errors="surrogateescape") as file:
            names = {os.path.realpath("/" + line.partition(" /")[2].rstrip("\n")) for line in file if " /" in line}
    except OSError:
        return ()
    return tuple(sorted(name for name in names if _is_socket(name)))


def open_below(root: str, hidden: Sequence[str]) -> Iterator[str]:
    """Yield the outermost places below a root that hold nothing hidden; links are left out."""
    if any(is_in(root, place) for place in hidden):
        return
    within = [place for place in hidden if is_in(place, root)]
    if not within:
        yield root
        return
    try:
        with os.scandir(root) as entries:
            names = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for path in sorted(names):
        yield from open_below(path, within)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths without those that lie in another of them."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(is_in(path, outer) for outer in kept):
            kept.append(path)
    return tuple(kept)


def is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it, by whole components."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
