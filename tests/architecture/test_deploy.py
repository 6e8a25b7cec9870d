"""The files to deploy with say what the program has: its options, variables, addresses and ports."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from kubernetes_validate import utils
from packaging.version import Version

from pilothouse.cli.app import app
from pilothouse.secrets.master_key import CREDENTIAL, FILE_VARIABLE
from pilothouse.types import limits
from pilothouse.types.settings import Settings
from pilothouse.web.routes import ROUTES
from tests.support.certificates import SelfSigned
from tests.support.source import ROOT

DEPLOY = ROOT / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and path.name != "master.key")
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
# From the release on that knows how to wait before it stops a container.
OLDEST_KUBERNETES = Version("1.30")
RELEASES = [release for release in utils.all_versions() if Version(release) >= OLDEST_KUBERNETES]
USER = "10001"
# They would take away what bubblewrap and Landlock need.
BREAKS_THE_SANDBOX = {
    "PrivateUsers",
    "ProtectHostname",
    "ProtectKernelLogs",
    "ProtectKernelTunables",
    "ProtectProc",
    "RestrictNamespaces",
    "SystemCallFilter",
}


@cache
def resources() -> list[dict[str, Any]]:
    """Return what is declared to Kubernetes."""
    found = [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    assert all(isinstance(each, dict) for each in found)
    return found


def of_kind(kind: str) -> list[dict[str, Any]]:
    """Return the declared things of a kind, at least one."""
    found = [each for each in resources() if each["kind"] == kind]
    assert found, f"there is no {kind}"
    return found


@cache
def compose() -> dict[str, Any]:
    """Return what compose is told."""
    made: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return made


def ours(services: dict[str, Any]) -> dict[str, Any]:
    """Return the services that are Pilothouse."""
    return {name: service for name, service in services.items() if service["image"] == "pilothouse"}


def unit(path: Path) -> ConfigParser:
    """Return a unit of systemd."""
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(path.read_text(encoding="utf-8"))
    return parser


def entry_point() -> list[str]:
    """Return what a container begins with, without the name of the program."""
    found = re.search(r"^ENTRYPOINT (\[.*\])$", CONTAINER, re.MULTILINE)
    assert found is not None
    program, *rest = json.loads(found[1])
    assert program == "pilothouse"
    return [str(each) for each in rest]


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield the arguments of every process that is started."""
    yield "Containerfile", entry_point()
    for name, service in ours(compose()["services"]).items():
        yield f"compose {name}", [*entry_point(), *service["command"]]
    for deployment in of_kind("Deployment"):
        for container in deployment["spec"]["template"]["spec"]["containers"]:
            yield deployment["metadata"]["name"], [*entry_point(), *container["args"]]
    for path in UNITS:
        line = unit(path)["Service"]["ExecStart"].replace("%i", str(limits.WORKER_PORT))
        yield path.name, shlex.split(line)[1:]


@pytest.mark.parametrize(("where", "arguments"), list(command_lines()), ids=lambda each: str(each)[:40])
def test_every_process_is_started_with_options_that_there_are(where: str, arguments: list[str]) -> None:
    command, *options = arguments
    assert command == "serve"
    parser = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    read = parser.make_context(command, options)
    assert not read.args, where
    assert read.params["no_browser"]
    assert read.params["role"] in ("web", "worker") or "compose" not in where


def test_compose_has_a_database_a_page_and_two_workers() -> None:
    services = compose()["services"]
    roles = [service["command"][1] for service in ours(services).values()]
    assert sorted(roles) == ["web", "worker", "worker"]
    assert len(services) == len(roles) + 1


def test_every_variable_is_one_that_the_program_reads() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/pilothouse").rglob("*.py"))
    known = set(re.findall(r"[\"'](PILOTHOUSE_[A-Z_]+)[\"']", source))
    named = {(p.name, name) for p in FILES for name in re.findall(r"PILOTHOUSE_[A-Z_]+", p.read_text(encoding="utf-8"))}
    assert {name for _, name in named} >= {"PILOTHOUSE_DATABASE_URL", "PILOTHOUSE_HOME", FILE_VARIABLE}
    assert sorted((where, name) for where, name in named if name not in known) == []


def test_every_address_is_one_that_is_answered() -> None:
    known = {route.path for route in ROUTES}
    for path in FILES:
        named = set(re.findall(r"(?<![\w.])/api/[a-z]+\b", path.read_text(encoding="utf-8")))
        assert named <= known, path


def test_every_port_is_one_of_ours() -> None:
    """The page's is 7420 everywhere, and a second process on the same machine has the next."""
    for path in FILES:
        ports = {int(port) for port in re.findall(r"(?<![\d.])74\d\d\b", path.read_text(encoding="utf-8"))}
        page = {limits.DEFAULT_PORT, limits.DEFAULT_PORT + 1}
        assert ports <= page | {limits.WORKER_PORT + n for n in range(3)}, path
    assert f"EXPOSE {limits.DEFAULT_PORT}\n" in CONTAINER
    assert entry_point()[-2:] == ["--port", str(limits.DEFAULT_PORT)]
    assert f"http://127.0.0.1:{limits.DEFAULT_PORT}/api/health" in CONTAINER


def test_the_container_is_made_of_what_is_there_and_does_not_run_as_root() -> None:
    for copied in re.findall(r"^COPY ([\w./]+) ", CONTAINER, re.MULTILINE):
        assert (ROOT / copied).exists(), copied
    groups = re.findall(r"for group in ([\w ]+);", CONTAINER)[0].split()
    for group in groups:
        assert (ROOT / "requirements" / f"{group}.txt").is_file(), group
    installs = re.findall(r"pip install (.*)$", CONTAINER.replace("\\\n", " "), re.MULTILINE)
    assert len(installs) == 3
    # Our own wheel, which was made a moment before, has no hash to know it by.
    assert all("--require-hashes" in line or "/wheel/" in line for line in installs)
    assert re.findall(r"^USER (\S+)$", CONTAINER, re.MULTILINE) == [f"{USER}:{USER}"]
    # No host but the one that whoever builds it has set: `python`, not `registry.example/python`.
    bases = re.findall(r"^FROM (\S+)", CONTAINER, re.MULTILINE)
    assert bases
    assert not [base for base in bases if "/" in base]
    assert not [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line in ("page", "requirements")]


def test_services_of_compose_have_what_they_name() -> None:
    made = compose()
    for name, service in made["services"].items():
        for needed in service.get("depends_on", {}):
            assert "healthcheck" in made["services"][needed]
        for volume in service["volumes"]:
            assert volume.split(":")[0] in made["volumes"], (name, volume)
    for service in ours(made["services"]).values():
        (secret,) = service["secrets"]
        assert made["secrets"][secret]["file"]
        assert service["environment"][FILE_VARIABLE] == f"/run/secrets/{secret}"
        assert "/api/ready" in service["healthcheck"]["test"][-1]
        assert service["read_only"]
        assert seconds(service["stop_grace_period"]) > Settings().drain_seconds + limits.SHUTDOWN_GRACE


def seconds(text: str) -> float:
    """Return a time as compose and systemd write it."""
    return float(text.removesuffix("s"))


@pytest.mark.parametrize("release", RELEASES)
def test_kubernetes_takes_the_manifests(release: str) -> None:
    for each in resources():
        utils.validate(each, release, strict=True)


def test_a_manifest_with_a_slip_of_the_pen_is_noticed() -> None:
    made = deepcopy(of_kind("Deployment")[0])
    made["spec"]["template"]["spec"]["terminationGracePeriodSecond"] = 5
    with pytest.raises(utils.ValidationError):
        utils.validate(made, RELEASES[-1], strict=True)


def pods() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield what a pod is and its only container."""
    for deployment in of_kind("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        yield pod, container


def test_pods_are_asked_whether_they_live_and_whether_they_are_ready_and_get_time_to_end() -> None:
    for pod, container in pods():
        (port,) = container["ports"]
        assert port["containerPort"] == limits.DEFAULT_PORT
        asked = {probe: container[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
        assert {get["port"] for get in asked.values()} == {port["name"]}
        assert [get["path"] for get in asked.values()] == ["/api/health", "/api/health", "/api/ready"]
        assert container["readinessProbe"]["timeoutSeconds"] > limits.READY_PATIENCE
        waits = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        ends = Settings().drain_seconds + limits.SHUTDOWN_GRACE + waits
        assert pod["terminationGracePeriodSeconds"] > ends


def test_pods_have_the_secrets_that_they_name_and_no_rights() -> None:
    (secret,) = of_kind("Secret")
    for pod, container in pods():
        keys = [each["valueFrom"]["secretKeyRef"] for each in container["env"] if "valueFrom" in each]
        assert {each["name"] for each in keys} == {secret["metadata"]["name"]}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
        assert len(mounts) == len(volumes)
        mounted = Path(next(each["value"] for each in container["env"] if each["name"] == FILE_VARIABLE))
        (item,) = mounts[str(mounted.parent)]["secret"]["items"]
        assert item["path"] == mounted.name
        assert {item["key"], *(each["key"] for each in keys)} <= secret["stringData"].keys()
        assert str(pod["securityContext"]["runAsUser"]) == USER
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_whoever_selects_pods_selects_some() -> None:
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in of_kind("Deployment")]
    selectors = [each["spec"]["selector"]["matchLabels"] for each in of_kind("Deployment")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of_kind("PodDisruptionBudget")]
    selectors += [each["spec"]["podSelector"]["matchLabels"] for each in of_kind("NetworkPolicy")]
    selectors += [each["spec"]["selector"] for each in of_kind("Service")]
    for selector in selectors:
        assert len([each for each in labels if selector.items() <= each.items()]) == 1
    (namespace,) = of_kind("Namespace")
    named = {each["metadata"]["namespace"] for each in resources() if each["kind"] != "Namespace"}
    assert named == {namespace["metadata"]["name"]}


def test_no_example_has_a_secret_in_it() -> None:
    (secret,) = of_kind("Secret")
    assert all("REPLACE" in value for value in secret["stringData"].values())
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "deploy/master.key" in ignored


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_of_systemd_leave_the_sandbox_what_it_needs(path: Path) -> None:
    service = unit(path)["Service"]
    assert not BREAKS_THE_SANDBOX & set(service)
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["LoadCredential"].partition(":")[0] == CREDENTIAL
    assert service["User"] not in ("", "root")
    # What may be written is what the program is told to write to.
    assert service["Environment"] == f"PILOTHOUSE_HOME=%S/{service['StateDirectory']}"
    assert seconds(service["TimeoutStopSec"]) > Settings().drain_seconds + limits.SHUTDOWN_GRACE


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_takes_its_units_where_it_is_there(path: Path, tmp_path: Path) -> None:
    """Where it is not, the tests above have read them."""
    program = shutil.which("systemd-analyze")
    text = path.read_text(encoding="utf-8")
    made = tmp_path / path.name.replace("@.", f"@{limits.WORKER_PORT}.")
    # It looks whether the program is there.
    made.write_text(text.replace("/opt/pilothouse/bin/pilothouse", sys.executable), encoding="utf-8")
    if program is not None:
        command = [program, "verify", "--man=no", "--recursive-errors=no", str(made)]
        looked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        about_it = [line for line in looked.stderr.splitlines() if made.name in line or str(made) in line]
        assert (looked.returncode, about_it) == (0, []), looked.stderr


def blocks(text: str) -> str:
    """Return a configuration without its comments."""
    return re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)


@pytest.mark.case("PLT-10")
def test_both_proxies_let_streams_through_and_keep_metrics_inside() -> None:
    nginx = blocks((DEPLOY / "nginx.conf").read_text(encoding="utf-8"))
    assert nginx.count("{") == nginx.count("}") > 0
    for line in (
        "proxy_http_version 1.1;",
        "proxy_set_header Host $http_host;",
        "proxy_set_header Upgrade $http_upgrade;",
        "proxy_set_header Connection $connection_upgrade;",
        "proxy_buffering off;",
    ):
        assert line in nginx
    most = re.search(r"client_max_body_size (\d+)m;", nginx)
    assert most is not None
    assert int(most[1]) * 1024 * 1024 >= limits.CONVERSATIONS_FILE_BYTES
    assert re.search(r"location = /metrics \{\s*return 404;\s*\}", nginx)
    caddy = blocks((DEPLOY / "Caddyfile").read_text(encoding="utf-8"))
    assert caddy.count("{") == caddy.count("}") > 0
    assert "respond /metrics 404" in caddy
    assert "flush_interval -1" in caddy
    assert "health_uri /api/ready" in caddy
    # Caddy gets a certificate by itself for a name; nginx is told where one is, and sends everyone to it.
    assert caddy.lstrip().startswith("pilothouse.example {")
    assert "ssl_certificate " in nginx
    assert "return 301 https://$host$request_uri;" in nginx
    guide = (ROOT / "docs" / "guide" / "deploying.md").read_text(encoding="utf-8")
    assert all(f"deploy/{name}" in guide for name in ("Caddyfile", "nginx.conf"))
    for text in (nginx, caddy):
        assert not re.search(r"ip_hash|sticky|lb_policy (cookie|ip_hash|client_ip_hash)", text)


def test_nginx_takes_its_file_where_it_is_there(tmp_path: Path) -> None:
    program = shutil.which("nginx")
    certificate = SelfSigned(tmp_path).path
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    text = re.sub(r"/etc/ssl/pilothouse/\w+\.pem", str(certificate), text)
    whole = tmp_path / "nginx.conf"
    # `[::]` is no address on a machine without the sixth version.
    text = re.sub(r"^\s*listen \[::\].*$", "", text, flags=re.MULTILINE)
    for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
        text += f"{kind}_temp_path {tmp_path}/{kind};\n"
    whole.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{text}\n}}\n", encoding="utf-8")
    if program is not None:
        command = [program, "-t", "-q", "-p", str(tmp_path), "-e", "stderr", "-c", str(whole)]
        looked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert looked.returncode == 0, looked.stderr


def test_caddy_takes_its_file_where_it_is_there() -> None:
    if (program := shutil.which("caddy")) is not None:
        command = [program, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
        looked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert looked.returncode == 0, looked.stderr


def test_the_readme_speaks_of_every_file_and_says_what_was_not_tried() -> None:
    readme = (DEPLOY / "README.md").read_text(encoding="utf-8")
    missing = [
        path.name for path in FILES if path.name != "README.md" and f"`{path.relative_to(DEPLOY)}`" not in readme
    ]
    assert not missing
    assert "## What was tried, and what was not" in readme
