"""An index of packages on loopback, as npm and uv ask one; its packages are made at run time and small."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

import pytest

from tests.support.tiny_http import Answer, Request, TinyHttp

# Both speak the protocol with nothing but what their language brings: one tool, `where`, and its version in its text.
NODE_SERVER = """#!/usr/bin/env node
const lines = require("readline").createInterface({ input: process.stdin });
const tools = [{ name: "where", description: "VERSION", inputSchema: { type: "object" } }];
const prying = process.argv.includes("--pry");
const writes = (path) => { try { prying && require("fs").writeFileSync(path, "x"); return prying; }
  catch (error) { return false; } };
const text = () => JSON.stringify({ script: __filename, argv: process.argv.slice(2), home: process.env.HOME,
  version: "VERSION", pid: process.pid, home_is_open: writes(process.env.HOME + "/kept"),
  code_is_open: writes(__filename) });
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  if (asked.id === undefined) return;
  const answer = { jsonrpc: "2.0", id: asked.id };
  if (asked.method === "initialize") answer.result = { protocolVersion: "2025-06-18", capabilities: { tools: {} },
    serverInfo: { name: "tiny", version: "VERSION" } };
  else if (asked.method === "tools/list") answer.result = { tools };
  else if (asked.method === "tools/call") answer.result = { content: [{ type: "text", text: text() }] };
  else answer.error = { code: -32601, message: "unknown" };
  console.log(JSON.stringify(answer));
});
"""
PYTHON_SERVER = """
import json, os, sys

def main():
    tools = [{"name": "where", "description": "VERSION", "inputSchema": {"type": "object"}}]
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        answer = {"jsonrpc": "2.0", "id": asked["id"]}
        said = json.dumps({"script": __file__, "argv": sys.argv[1:], "home": os.environ.get("HOME"),
                           "version": "VERSION", "pid": os.getpid()})
        info = {"name": "tiny", "version": "VERSION"}
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info},
            "tools/list": {"tools": tools},
            "tools/call": {"content": [{"type": "text", "text": said}]},
        }
        if asked["method"] in results:
            answer["result"] = results[asked["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "unknown"}
        print(json.dumps(answer), flush=True)
"""
BROKEN = "import sys\n\ndef main():\n    sys.exit('it is broken')\n"


@dataclass
class Indexes:
    """What there is, what was asked for, and what goes wrong."""

    address: str = ""
    npm: dict[str, dict[str, dict[str, object]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    wheels: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    # Every answer is this status, where it is set; the names in `slow` get none.
    status: int = 0
    slow: set[str] = field(default_factory=set)
    yanked: dict[str, str] = field(default_factory=dict)
    _waiting: asyncio.Event = field(default_factory=asyncio.Event)

    def node(self, name: str, version: str, *, server: str = NODE_SERVER, **more: object) -> None:
        """Publish a package of npm, with a program unless `bin` says otherwise."""
        plain = name.rpartition("/")[2]
        package: dict[str, object] = {"name": name, "version": version, "bin": {plain: "server.js"}, **more}
        package = {key: value for key, value in package.items() if value is not None}
        source = server.replace("VERSION", version)
        data = _tarball({"package.json": json.dumps(package), "server.js": source})
        path = f"/-/{plain}-{version}.tgz"
        self.files[path] = data
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {"tarball": f"{self.address}{path}", "integrity": integrity}
        has_script = {"hasInstallScript": True} if "scripts" in package else {}
        self.npm.setdefault(name, {})[version] = {**package, **has_script, "dist": dist}

    def python(
        self,
        name: str,
        version: str,
        *,
        programs: Mapping[str, str] | None = None,
        needs: str = "",
        server: str = PYTHON_SERVER,
    ) -> None:
        """Publish a wheel of PyPI, with a program of its name unless others are given."""
        module = name.replace("-", "_")
        named = {name: f"{module}:main"} if programs is None else programs
        source = server.replace("VERSION", version)
        data = _wheel((name, version), {f"{module}.py": source}, named, needs)
        file = f"{module}-{version}-py3-none-any.whl"
        self.files[f"/files/{file}"] = data
        self.wheels.setdefault(name, {})[file] = hashlib.sha256(data).hexdigest()

    def source(self, name: str, version: str, files: Mapping[str, str]) -> None:
        """Publish a package of PyPI that must be built."""
        base = f"{name.replace('-', '_')}-{version}"
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        data = _tarball({"PKG-INFO": about, **files}, base)
        self.files[f"/files/{base}.tar.gz"] = data
        self.wheels.setdefault(name, {})[f"{base}.tar.gz"] = hashlib.sha256(data).hexdigest()

    def replace_content(self, path_part: str) -> None:
        """Put other content behind a version, as an attacker would."""
        for path in [path for path in self.files if path_part in path]:
            if path.endswith(".tgz"):
                self.files[path] = _tarball({"package.json": "{}", "server.js": "// evil"})
            else:
                self.files[path] = _changed(self.files[path])

    async def answer(self, request: Request) -> Answer:
        path = unquote(request.target.partition("?")[0])
        self.asked.append(path)
        if any(name in path for name in self.slow):
            await self._waiting.wait()
        if self.status:
            return Answer(self.status, b"{}")
        if path in self.files:
            return Answer(body=self.files[path], headers={"content-type": "application/octet-stream"})
        if path.startswith("/simple/"):
            return self._simple(path.split("/")[2])
        return self._packument(path[1:])

    def _packument(self, name: str) -> Answer:
        versions = self.npm.get(name)
        if versions is None:
            return Answer(404, json.dumps({"error": "Not found"}).encode(), {"content-type": "application/json"})
        newest = list(versions)[-1]
        told = {"name": name, "dist-tags": {"latest": newest}, "versions": versions, "time": {}}
        return Answer(body=json.dumps(told).encode(), headers={"content-type": "application/json"})

    def _simple(self, name: str) -> Answer:
        wheels = self.wheels.get(name)
        if wheels is None:
            return Answer(404, b"not found")
        links = "".join(
            f'<a href="{self.address}/files/{file}#sha256={digest}"{self._is_yanked(file)}>{file}</a>'
            for file, digest in wheels.items()
        )
        page = f"<!DOCTYPE html><html><body>{links}</body></html>"
        return Answer(body=page.encode(), headers={"content-type": "text/html"})

    def _is_yanked(self, file: str) -> str:
        why = next((why for part, why in self.yanked.items() if part in file), None)
        return f' data-yanked="{why}"' if why is not None else ""


@asynccontextmanager
async def indexes(patch: pytest.MonkeyPatch) -> AsyncIterator[Indexes]:
    """An index of both kinds that npm and uv are told of, and no other."""
    made = Indexes()
    async with TinyHttp(made.answer) as server:
        made.address = server.url.rstrip("/")
        patch.setenv("npm_config_registry", f"{made.address}/")
        patch.setenv("npm_config_fetch_retries", "0")
        patch.setenv("UV_DEFAULT_INDEX", f"{made.address}/simple")
        patch.setenv("UV_HTTP_RETRIES", "3")
        for name in ("UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"):
            patch.delenv(name, raising=False)
        yield made


def bundle(manifest: object, files: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return an MCP bundle."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", manifest if isinstance(manifest, str) else json.dumps(manifest))
        for name, content in (files or {}).items():
            archive.writestr(name, content)
    return data.getvalue()


def _changed(wheel: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as before, zipfile.ZipFile(data, "w") as archive:
        for name in before.namelist():
            archive.writestr(zipfile.ZipInfo(name), before.read(name) + (b"# evil" if name.endswith(".py") else b""))
    return data.getvalue()


def _tarball(files: Mapping[str, str], folder: str = "package") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size, info.mode = len(content.encode()), 0o755
            archive.addfile(info, io.BytesIO(content.encode()))
    return gzip.compress(data.getvalue(), mtime=0)


def _wheel(named: tuple[str, str], source: Mapping[str, str], programs: Mapping[str, str], needs: str) -> bytes:
    name, version = named
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: A tiny server\nLicense: MIT\n"
    about += f"Requires-Dist: {needs}\n" if needs else ""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = "".join(f"{program} = {target}\n" for program, target in programs.items())
    files = {
        **source,
        f"{info}/METADATA": about,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **({f"{info}/entry_points.txt": f"[console_scripts]\n{lines}"} if programs else {}),
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return data.getvalue()
