"""A server that others on the network reach: TLS of its own, what is said without it, and forms of strangers."""

from __future__ import annotations

import datetime
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from pilothouse.cli.form_fields import has_free_text
from pilothouse.cli.inline import spans_of
from pilothouse.cli.serve import PLAIN_HTTP
from pilothouse.connection import connect_server
from pilothouse.host.address import read_address, write_address
from pilothouse.net.loop_clients import close_clients
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.origins import host_shown
from pilothouse.web.listening import listen
from pilothouse.web.tls import read_tls
from tests.support.certificates import SelfSigned
from tests.support.commands import serve_command
from tests.support.in_process_server import BEARER, RunningServer, run_server


@pytest_asyncio.fixture
async def secure(tmp_path: Path) -> AsyncIterator[RunningServer]:
    own = str(SelfSigned(tmp_path).path)
    async with run_server(tmp_path, listener=listen(port=0, tls=read_tls(own, own))) as server:
        yield server


async def test_with_a_certificate_everything_goes_over_tls_and_cookies_stay_there(
    secure: RunningServer, tmp_path: Path
) -> None:
    assert secure.ready.url == f"https://{secure.authority}"
    assert secure.ready.link.startswith(f"{secure.ready.url}/?in=")
    trusting = ssl.create_default_context(cafile=tmp_path / "certificate-2.pem")
    async with httpx2.AsyncClient(base_url=secure.ready.url, verify=trusting, trust_env=False) as http:
        link = (await http.post("/api/link", headers=BEARER)).json()["url"]
        assert link.startswith("https://")
        answer = await http.post("/api/session", json={"code": link.partition("#code=")[2]})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"__Host-pilothouse_{secure.listener.port}=")
        assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        session = {"cookie": cookie.partition(";")[0], "x-pilothouse-half": answer.json()["half"]}
        assert (await http.get("/api/models", headers=session)).status_code == 200
    async with httpx2.AsyncClient(trust_env=False) as plain:
        with pytest.raises(httpx2.HTTPError):
            await plain.get(f"http://{secure.authority}/api/health")


async def test_the_commands_of_this_account_know_the_certificate_and_take_no_other(
    secure: RunningServer, tmp_path: Path
) -> None:
    async with connect_server(secure.home) as running:
        assert running is not None
        assert (await running.new_link()).startswith(secure.ready.url)
    address = read_address(secure.home)
    assert address is not None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_address(elsewhere, type(address)(url=address.url, pid=address.pid, token=address.token, certificate="0" * 64))
    async with connect_server(elsewhere) as running:
        assert running is None
    await close_clients()


def _key(path: Path, password: bytes = b"") -> str:
    algorithm = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, algorithm))
    return str(path)


def test_files_that_make_no_tls_are_told_in_one_sentence(tmp_path: Path) -> None:
    good, expired = str(SelfSigned(tmp_path).path), str(SelfSigned(tmp_path, days=-1).path)
    later = str(SelfSigned(tmp_path, days=20).path)
    weak = str(SelfSigned(tmp_path, days=3, key=rsa.generate_private_key(65537, 1024)).path)
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nothing")
    pipe, huge = tmp_path / "pipe.pem", tmp_path / "huge.pem"
    os.mkfifo(pipe)
    huge.touch()
    os.truncate(huge, limits.TLS_FILE_BYTES + 1)
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    cases: dict[tuple[str | None, str | None], str] = {
        (good, None): "--tls-key names no file",
        (None, good): "--tls-cert names no file",
        # Variables that were not set: whoever wanted TLS must not get plain HTTP.
        ("", ""): "--tls-cert names no file",
        (weak, weak): "is too weak for browsers",
        (str(tmp_path / "none.pem"), good): "cannot be read: No such file or directory",
        (good, str(tmp_path)): "cannot be read: Is a directory",
        **{(str(file), good): "is no file of a certificate" for file in ("/dev/zero", pipe, huge)},
        (str(nonsense), good): "holds no certificate",
        (good, str(nonsense)): "holds no private key",
        (good, _key(tmp_path / "other.pem")): "does not belong to the certificate",
        (good, _key(tmp_path / "locked.pem", b"word")): "is protected by a password",
        (expired, expired): f"has expired on {yesterday:%Y-%m-%d}",
        (later, later): "is not valid before",
    }
    for files, told in cases.items():
        with pytest.raises(PilothouseError, match="The server cannot use TLS") as refused:
            read_tls(*files)
        assert told in refused.value.message
        assert refused.value.fix
    assert read_tls(None, None) is None
    assert read_tls(good, good) is not None


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
@pytest.mark.slow
def test_serving_the_network_in_the_clear_is_said_and_serving_this_machine_says_nothing(tmp_path: Path) -> None:
    network = ("--host", "0.0.0.0", "--expose-to-network")
    own = str(SelfSigned(tmp_path).path)
    cases = {
        (): False,
        network: True,
        (*network, "--tls-cert", own, "--tls-key", own): False,
    }
    for number, (options, warned) in enumerate(cases.items()):
        home = tmp_path / f"home-{number}"
        with serve_command(home, *options) as started:
            assert started.line().startswith("Pilothouse is at http")
            assert (PLAIN_HTTP in started.stop().err) is warned


# --- what strangers write -----------------------------------------------------------------------------


@pytest.mark.case("UI-06")
def test_a_terminal_names_the_host_of_an_address_that_looks_like_another() -> None:
    def shown(text: str) -> str:
        return "".join(span.text for span in spans_of(text))

    assert shown("[paypal.com](https://pаypal.com/x)").endswith("[xn--pypal-4ve.com]")
    assert shown("<https://bank.example@evil.example/>").endswith("[evil.example]")
    assert shown("[docs](https://docs.example/a@b)") == "docs (https://docs.example/a@b)"
    assert host_shown("https://user:word@Evil.Example:8443/x") == "evil.example:8443"
    assert host_shown("https://evil.example\\@bank.example/") == "evil.example"
    for address in ("https://evil.example\\@bank.example/", "https://bank.example@evil.example/?//evil.example"):
        assert shown(f"<{address}>").endswith("[evil.example]")
    assert host_shown("https://[") == ""


def test_every_form_that_anything_can_be_typed_into_warns() -> None:
    def form(**field: object) -> dict[str, object]:
        return {"type": "object", "properties": {"поле": field}}

    text = {"type": "string"}
    typed: list[dict[str, object]] = [{**text, "title": "Пароль"}, {**text, "format": "email"}, {}]
    typed += [
        {"type": ["string", "null"]},
        {"anyOf": [text, {"type": "null"}]},
        {"allOf": [text]},
        {"$ref": "#/$defs/a"},
    ]
    typed += [{"type": "array", "items": text}, {"type": "object", "properties": {"пароль": text}}]
    typed += [{**text, "oneOf": ["const"]}, {**text, "enum": "abc"}]
    for field in typed:
        assert has_free_text(form(**field)), field
    listed: dict[str, object] = {"enum": ["a", "b"], "enumNames": 5}
    chosen: list[dict[str, object]] = [{"type": "boolean"}, {"type": "integer"}, listed]
    chosen.append({"type": "array", "items": listed})
    for field in chosen:
        assert not has_free_text(form(**field))
    assert not has_free_text({})
