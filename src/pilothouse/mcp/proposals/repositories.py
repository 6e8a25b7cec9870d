"""A repository of a Git host: where its `server.json` would be."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from pilothouse.types.json import Frozen

_HOSTS = {"github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "codeberg", "bitbucket.org": "bitbucket"}
_PART = r"[A-Za-z0-9_][\w.-]{0,99}"
_URL = re.compile(
    rf"(?:(?:https?|ssh|git)://(?:git@)?(?:www\.)?|git@|git\+https://)"
    rf"(github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)[/:]"
    rf"({_PART}(?:/{_PART}){{1,5}}?)"
    rf"(?:/(?:-/)?(?:tree|blob|src/branch|src)/([\w.-]{{1,100}})((?:/[\w.@ -]{{1,100}}){{0,8}}))?/?(?:[?#].*)?"
)


class Repository(Frozen, frozen=True):
    """A repository, and the branch and folder in it that an address names."""

    host: str
    kind: str
    path: str
    branch: str = ""
    folder: str = ""

    @property
    def words(self) -> str:
        """What to search for where it describes itself nowhere: its name."""
        return self.path.rpartition("/")[2]


def named(text: str) -> Repository | None:
    """Return the repository that an address leads to."""
    hit = _URL.fullmatch(text)
    # What is under “api” is served by the host itself.
    if hit is None or hit[2].startswith("api/"):
        return None
    folder = (hit[4] or "").strip("/")
    folder = folder.rpartition("/")[0] if re.search(r"\.\w+$", folder) else folder
    if ".." in folder.split("/"):
        return None
    return Repository(
        host=hit[1], kind=_HOSTS[hit[1]], path=hit[2].removesuffix(".git"), branch=hit[3] or "", folder=folder
    )


def descriptions(repository: Repository, address: Callable[[str], str]) -> tuple[str, ...]:
    """Return the addresses at which a `server.json` may be, the nearest first."""
    base, path = address(f"{repository.kind}-files"), quote(repository.path)
    branch = quote(repository.branch)
    folders = tuple(dict.fromkeys((repository.folder, "")))
    files = [f"{quote(folder)}/server.json" if folder else "server.json" for folder in folders]
    match repository.kind:
        case "github":
            return tuple(f"{base}/{path}/{branch or 'HEAD'}/{file}" for file in files)
        case "gitlab":
            return tuple(f"{base}/{path}/-/raw/{branch or 'HEAD'}/{file}" for file in files)
        case "codeberg":
            at = f"?ref={branch}" if branch else ""
            return tuple(f"{base}/api/v1/repos/{path}/raw/{file}{at}" for file in files)
        case _:
            return tuple(f"{base}/{path}/raw/{branch or 'HEAD'}/{file}" for file in files)
