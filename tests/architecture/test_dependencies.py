"""What we depend on: pinned, hashed, from nowhere in particular, and each with its reason."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.source import ROOT, everything_of_ours

REQUIREMENTS = ROOT / "requirements"
NODE_PROJECTS = ("page", "requirements/chromium", "tests/conformance", "tests/servers")
REASONS = ROOT / "docs" / "dependencies.md"
# Written in pieces, or this file would break its own rule.
REGISTRIES = [
    ".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("debian", "org"))
]
ELSEWHERE = re.compile(
    r'"resolved":\s*"https?:|--(extra-)?index-url|--find-links|registry\s*=\s*"?https?:|'
    r"https?://[\w.-]*(" + "|".join(map(re.escape, REGISTRIES)) + ")"
)
# A folder of the machine that something was written on means nothing on another.
MACHINE = re.compile(r"(?<![\w.}*~-])/(root|home/[a-z]\w*|Users/[A-Za-z]\w*|work)/")


def project() -> dict[str, dict[str, list[str]]]:
    """Return the Python dependencies by the file that pins them."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {"runtime": data["project"]["dependencies"], **data["dependency-groups"]}


def declared() -> Iterator[tuple[str, Requirement]]:
    """Yield each declared Python dependency with its group."""
    for group, lines in project().items():
        yield from ((group, Requirement(line)) for line in lines)


def pinned(path: Path) -> dict[str, Version]:
    """Return the versions in a requirements file."""
    lines = re.findall(r"^([a-z0-9][\w.-]*)(?:\[[^]]*\])?==([^\s;]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in lines}


def test_every_declared_dependency_is_pinned_to_a_version_that_it_allows() -> None:
    wrong = []
    for group, requirement in declared():
        version = pinned(REQUIREMENTS / f"{group}.txt").get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement} is pinned to {version} in requirements/{group}.txt")
    assert not wrong, "run scripts/lock: " + "; ".join(wrong)


def test_the_groups_agree_on_every_version() -> None:
    seen: dict[str, Version] = {}
    for path in sorted(REQUIREMENTS.glob("*.txt")):
        for name, version in pinned(path).items():
            assert seen.setdefault(name, version) == version, f"{name} has two versions; run scripts/lock"


@pytest.mark.parametrize("group", ["runtime", "embedded", "meaning", "servers", "known", "build", "dev", "bench"])
def test_every_pinned_package_has_hashes(group: str) -> None:
    text = (REQUIREMENTS / f"{group}.txt").read_text(encoding="utf-8")
    packages = re.findall(r"^[a-z0-9].*", text, re.MULTILINE)
    hashed = re.findall(r"^[a-z0-9].*\\\n\s+--hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    assert packages
    assert len(packages) == len(hashed)


def test_no_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    wrong = []
    for path in everything_of_ours():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if (ELSEWHERE.search(line) or MACHINE.search(line)) and path != Path(__file__):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", NODE_PROJECTS)
def test_the_lock_of_npm_has_every_platforms_binaries_and_no_address(folder: str) -> None:
    packages = json.loads((ROOT / folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert not [name for name, entry in packages.items() if "resolved" in entry]
    locked = {name.rpartition("node_modules/")[2] for name in packages}
    missing = {
        f"{wanted} (for {name.rpartition('node_modules/')[2]})"
        for name, entry in packages.items()
        for wanted in entry.get("optionalDependencies", {})
        if wanted not in locked
    }
    assert not missing, f"npm dropped these from the lock in silence: {sorted(missing)}"


def test_every_dependency_has_its_reason_in_the_docs() -> None:
    wanted = {requirement.name for _, requirement in declared()}
    for folder in NODE_PROJECTS:
        package = json.loads((ROOT / folder / "package.json").read_text(encoding="utf-8"))
        for kind in ("dependencies", "devDependencies", "overrides"):
            wanted |= package.get(kind, {}).keys()
    told = set(re.findall(r"^\| `([^`]+)` \| \S", REASONS.read_text(encoding="utf-8"), re.MULTILINE))
    assert not wanted - told, f"docs/dependencies.md does not say why: {sorted(wanted - told)}"
    assert not told - wanted, f"docs/dependencies.md speaks of what is gone: {sorted(told - wanted)}"
