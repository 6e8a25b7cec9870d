"""What of the host's environment a command gets: what programs need, nothing that opens a door."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from urllib.parse import urlsplit

from pilothouse.types.guarded_places import is_in

_INHERITED = frozenset({"HOME", "LOGNAME", "PATH", "USER", "LANG", "LANGUAGE", "TZ", "SHELL", "COLORTERM"})
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"})
_CERTIFICATES = frozenset(
    {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Nobody is there to turn pages, to edit, or to type a password: whatever wants that ends and says so.
UNATTENDED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "SUDO_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
# Without a network these take what they have already, instead of trying for minutes.
_OFFLINE = {"UV_OFFLINE": "1", "npm_config_offline": "true"}
ATTENDED = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
# Git does not work with a settings file that it is denied, as Landlock does; bubblewrap shows none.
WITHOUT_HOME = {"GIT_CONFIG_GLOBAL": os.devnull}


def command_environment(
    scratch: str, cache: str, *, network: bool, attended: bool, ours: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return a command's variables; `scratch` and `cache` are places of its own."""
    kept = {name: value for name, value in ours.items() if name in _INHERITED or name.startswith("LC_")}
    if network:
        kept |= {name: value for name, value in ours.items() if _is_for_the_network(name, value)}
    else:
        kept |= _OFFLINE
    kept["PATH"] = program_path(ours.get("PATH", ""))
    # Caches below the home folder cannot be written to; many programs do not start without one.
    kept |= {"TMPDIR": scratch, "XDG_CACHE_HOME": cache, "npm_config_cache": f"{cache}/npm"}
    # uvx makes this folder even when it installs nothing there.
    kept |= {"UV_TOOL_DIR": f"{cache}/uv-tools"}
    return kept | (ATTENDED if attended else UNATTENDED)


def program_path(path: str, folder: str = "") -> str:
    """Return where programs are looked for, without what leads into the folder that a command works in."""
    absolute = [entry for entry in path.split(":") if entry.startswith("/")]
    kept = [entry for entry in absolute if not folder or not is_in(os.path.realpath(entry), os.path.realpath(folder))]
    return ":".join(kept) or _PATH


def system_program(name: str) -> str:
    """Return a program that the administrator installed; one that anybody else put before it is passed over."""
    places = program_path(os.environ.get("PATH", "")).split(":")
    found = filter(None, (shutil.which(name, path=place) for place in places))
    return next((program for program in found if os.stat(program).st_uid == 0), "")


def _is_for_the_network(name: str, value: str) -> bool:
    if name in _CERTIFICATES:
        return True
    # A proxy's address may carry a password, which is nobody's business.
    return name.upper() in _PROXIES and not (name.upper() != "NO_PROXY" and urlsplit(value).password)
