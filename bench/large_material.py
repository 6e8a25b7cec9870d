"""What the benchmark of large results works on: real files, made from what is installed here when it runs."""

from __future__ import annotations

import ast
import csv
import functools
import http.server
import json
import pydoc
import shutil
import subprocess
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from bench.processes import ROOT

STANDARD = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = (
    *("asyncio", "concurrent", "ctypes", "email", "encodings", "html", "http", "importlib", "json", "logging"),
    *("multiprocessing", "sqlite3", "unittest", "urllib", "wsgiref", "xml"),
)
PAGES = ("subprocess", "argparse")
FACTS = ("Summary", "License-Expression", "License", "Home-page")


def prepare(work: Path) -> None:
    """Fill a folder."""
    for name in PACKAGES:
        shutil.copytree(STANDARD / name, work / "python" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (work / "many").mkdir()
    for file in sorted(STANDARD.glob("*.py")):
        shutil.copy(file, work / "many")
    (work / "all").mkdir()
    for file in sorted(path for name in PACKAGES for path in (work / "python" / name).rglob("*.py")):
        shutil.copy(file, work / "all" / file.relative_to(work / "python").as_posix().replace("/", "."))
        (work / "all" / f"{file.stem}.{file.parent.name}.txt").write_text(file.read_text()[:1_000])
    shutil.copy(ROOT / "page" / "package-lock.json", work / "page-lock.json")
    shutil.copy(ROOT / "bench" / "finding" / "package-lock.json", work / "servers-lock.json")
    shutil.copy(ROOT / "docs" / "rows.toml", work)
    shutil.copy(ROOT / "docs" / "checklist.md", work)
    packages = installed()
    (work / "packages.json").write_text(json.dumps(packages, indent=2))
    (work / "packages.min.json").write_text(json.dumps(packages, separators=(",", ":")))
    (work / "graph.jsonl").write_text(graph(packages))
    tables(work)
    for name in PAGES:
        (work / f"{name}.html").write_text(pydoc.HTMLDoc().document(import_module(name)))
    repository(work)


def installed() -> list[dict[str, Any]]:
    """Return the packages of this environment, as they describe themselves."""
    found = {}
    for each in metadata.distributions():
        about = each.metadata
        told = {
            name: about[name] for name in ("Summary", "License-Expression", "License", "Home-page") if name in about
        }
        found[about["Name"].lower()] = {
            "name": about["Name"],
            "version": each.version,
            "summary": told.get("Summary", ""),
            "license": told.get("License-Expression") or told.get("License", "")[:60],
            "home": told.get("Home-page") or "; ".join(about.get_all("Project-URL") or []),
            "requires": each.requires or [],
        }
    return [found[name] for name in sorted(found)]


def graph(packages: list[dict[str, Any]]) -> str:
    """Return them as what the memory server keeps: entities with observations, and relations."""
    lines = []
    for each in packages:
        about = [f"version: {each['version']}", f"summary: {each['summary']}", f"license: {each['license']}"]
        about.append(f"home page: {each['home']}")
        lines.append({"type": "entity", "name": each["name"], "entityType": "package", "observations": about})
        lines += (
            {"type": "relation", "from": each["name"], "to": needed.split()[0], "relationType": "requires"}
            for needed in each["requires"]
        )
    return "\n".join(map(json.dumps, lines))


def tables(work: Path) -> None:
    """Write the files with their sizes as CSV, and the classes and functions with their places as TSV."""
    files = sorted(path for path in STANDARD.rglob("*.py") if "site-packages" not in path.parts)
    texts = {path.relative_to(STANDARD).as_posix(): path.read_bytes() for path in files}
    with (work / "files.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "bytes", "lines", "longest line"))
        for name, text in texts.items():
            lines = text.split(b"\n")
            writer.writerow((name, len(text), len(lines), max(map(len, lines))))
    rows = ["symbol\tfile\tline\tkind"]
    for name in [name for name in texts if not name.startswith(("test/", "lib2to3/tests/", "idlelib/"))]:
        for node in ast.parse(texts[name]).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                rows.append(f"{node.name}\t{name}\t{node.lineno}\t{type(node).__name__}")
    (work / "symbols.tsv").write_text("\n".join(rows) + "\n")


def repository(work: Path) -> None:
    """Make a repository with a commit for each module."""
    folder = work / "repository"
    folder.mkdir()

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)

    git("init", "--quiet")
    for file in sorted((work / "many").glob("*.py")):
        shutil.copy(file, folder)
        git("add", file.name)
        about = ast.get_docstring(ast.parse(file.read_bytes())) or ""
        git("commit", "--quiet", "-m", f"Add {file.stem}", "-m", about[:200])
        if file.stem in ("subprocess", "_aix_support", "__future__"):
            git("tag", file.stem)
    git("tag", "first", "__future__")


@contextmanager
def served(work: Path) -> Iterator[str]:
    """Serve the folder on this machine alone; yield its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(work)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
