"""Credentials where people really have them: closed for the file tools, the searches, git and both sandboxes alike."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.permissions.protected import Protected
from pilothouse.tools.sandbox.hidden import hidden_places
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.types.guarded_places import HOME, MOVED_BY
from pilothouse.types.terminals import SandboxKind
from tests.support.chats import open_chat
from tests.support.files import FileCalls, open_file_tool
from tests.support.repositories import git, make_repository, open_git_tool
from tests.support.search_tool import open_search_tool
from tests.support.terminals import HOLDING, sandbox

CANARY = "canary-2907-of-a-key"


def names(text: str) -> list[str]:
    return text.split()


PLANTED = names("""
.ssh/id_work .ssh/config .aws/credentials .aws/config .config/gcloud/credentials.db .azure/msal_token_cache.json
.kube/config .docker/config.json .netrc .pgpass .my.cnf .npmrc .yarnrc.yml .pypirc .cargo/credentials
.cargo/credentials.toml .gem/credentials .composer/auth.json .config/composer/auth.json .m2/settings.xml
.gradle/gradle.properties .git-credentials .config/git/credentials .config/gh/hosts.yml .config/glab-cli/config.yml
.config/hub .gnupg/private-keys-v1.d/a.key .password-store/mail.gpg .local/share/keyrings/login.keyring
.config/op/config .vault-token .terraform.d/credentials.tfrc.json .config/rclone/rclone.conf .s3cfg .boto
.config/doctl/config.yaml
.fly/config.yml .config/heroku/config.json .wrangler/config/default.toml .huggingface/token .cache/huggingface/token
.claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .qwen/oauth_creds.json
.config/github-copilot/hosts.json .local/share/opencode/auth.json .continue/config.yaml
.config/Code/User/globalStorage/state.vscdb .mozilla/firefox/a.default/logins.json
.config/google-chrome/Default/Cookies .config/chromium/Default/Cookies .config/BraveSoftware/Brave/Default/Cookies
snap/firefox/common/.mozilla/firefox/a/key4.db .var/app/org.mozilla.firefox/.mozilla/firefox/a/key4.db
.var/app/com.google.Chrome/config/google-chrome/Default/Cookies Library/Cookies/Cookies.binarycookies
Library/Keychains/login.keychain-db Library/Safari/History.db .bash_history .zsh_history
.local/share/fish/fish_history .python_history .psql_history .mysql_history .sqlite_history .node_repl_history
.rediscli_history .config/sops/age/keys.txt .config/containers/auth.json .oci/config .databrickscfg
.config/hcloud/cli.toml .Xauthority .local/share/pilothouse/secrets/a
""")
ON_A_MAC = [
    f"Library/Application Support/{name}"
    for name in ("Firefox/Profiles/a/key4.db", "Google/Chrome/Default/Cookies", "Claude/config.json")
]
CREDENTIALS = [*PLANTED, *ON_A_MAC]
# What a project has of its own, wherever it is.
IN_PROJECT = names("""
.env .env.local .env.production prod.env server.pem my-keypair.pem tls.key id_rsa id_ed25519 deploy.ppk passwords.kdbx
terraform.tfstate terraform.tfstate.backup client_secret_12.json .git-credentials .dev.vars .streamlit/secrets.toml
keys.p12 app.keystore .htpasswd
""")
PLAIN = names("""
.env.example .env.sample .env.template .env.dist .env.local.example example.env .envrc cert.pem fullchain.pem ca.pem
id_rsa.pub public.pem src/env.py src/key.py main.tf terraform.tfvars environment.ts keys.json .npmrc package.json
""")


@pytest.fixture
def person(tmp_path: Path) -> Path:
    folder = tmp_path / "person"
    for name in (*CREDENTIALS, "code/plain.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CANARY if name in CREDENTIALS else "nothing secret")
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name in (*IN_PROJECT, *PLAIN):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CANARY if name in IN_PROJECT else "nothing secret")
    return folder


@pytest_asyncio.fixture
async def at_home(home: Path, person: Path) -> AsyncIterator[FileCalls]:
    """Works in the person's home folder, where reading is free but for this list."""
    async with open_file_tool(home, person, person) as opened:
        yield opened


@pytest.fixture(params=HOLDING)
def held(
    request: pytest.FixtureRequest, tmp_path: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sandbox]:
    monkeypatch.setenv("HOME", str(person))
    data = tmp_path / "data"
    data.mkdir()
    kind: SandboxKind = request.param
    made = sandbox(data, kind)
    yield made
    made.close()


async def printed(held: Sandbox, folder: Path, *paths: Path) -> bytes:
    script = 'for path; do cat "$path"; echo; done 2>&1; true'
    ran = await SandboxRunner(held).run(["bash", "-c", script, "bash", *map(str, paths)], str(folder), 20.0)
    return ran.output


async def reasons(at: FileCalls, operation: str, **arguments: object) -> list[str]:
    """Return why each thing that a call touches needs a word of its own."""
    return [use.protected for use in (await at.touched(operation, **arguments)).paths]


# --- the file tools ---


@pytest.mark.case("FS-04", "FS-11")
async def test_no_credential_is_read_changed_moved_or_patched_on_a_general_permission(at_home: FileCalls) -> None:
    open_ = []
    for name in CREDENTIALS:
        calls: list[tuple[str, dict[str, object]]] = [
            ("read_file", {"filePath": name}),
            ("replace_string", {"filePath": name, "oldString": "canary", "newString": "x"}),
            ("rename_file", {"filePath": name, "newPath": "code/moved.txt"}),
            ("delete_file", {"filePath": name}),
            ("apply_patch", {"patch": f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{CANARY}\n+x\n"}),
        ]
        for operation, given in calls:
            if " " not in name or operation != "apply_patch":
                access = await at_home.touched(operation, **given)
                open_ += [f"{operation} {name}"] if not any(use.protected for use in access.paths) else []
                assert CANARY not in str(access.preview)
    assert open_ == []
    assert await reasons(at_home, "read_file", filePath="code/plain.txt") == [""]


@pytest.mark.case("FS-09")
def test_a_credential_in_another_letter_case_is_the_same_one() -> None:
    person = Path("/nonexistent/person")
    guard = Protected(Path("/nonexistent/data"), person)
    for name in (*CREDENTIALS, *IN_PROJECT):
        for spelled in (name, name.upper(), name.title(), f"{name}.", name.replace("c", "\u217d")):
            assert guard.protects(str(person / spelled), None, "reads"), spelled


@pytest.mark.case("FS-04")
async def test_a_second_name_for_a_credential_is_the_credential(home: Path, person: Path, work: Path) -> None:
    for number, name in enumerate(CREDENTIALS):
        os.link(person / name, work / f"notes-{number}.txt")
    (work / "honest.txt").write_text("mine")
    os.link(work / "honest.txt", work / "honest-too.txt")
    async with open_file_tool(home, work, person) as at_work:
        open_ = [
            name
            for number, name in enumerate(CREDENTIALS)
            if not all(await reasons(at_work, "read_file", filePath=f"notes-{number}.txt"))
        ]
        assert open_ == []
        assert await reasons(at_work, "read_file", filePath="honest-too.txt") == [""]


@pytest.mark.case("FS-03", "FS-04")
async def test_where_a_linked_credential_really_is_is_known(home: Path, person: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    for name in (".netrc", ".aws"):
        (person / name).rename(dotfiles / name.strip("."))
        (person / name).symlink_to(dotfiles / name.strip("."))
    (dotfiles / "readme").write_text("mine")
    async with open_file_tool(home, dotfiles, person) as at_work:
        for name in ("netrc", "aws/credentials", "aws/new"):
            assert all(await reasons(at_work, "read_file", filePath=name)), name
        assert await reasons(at_work, "read_file", filePath="readme") == [""]


async def test_a_projects_own_keys_are_read_on_a_word_of_their_own(home: Path, work: Path) -> None:
    async with open_file_tool(home, work, work.parent / "nobody") as at_work:
        for name in IN_PROJECT:
            assert all(await reasons(at_work, "read_file", filePath=name)), name
        # All at once: which files have other names is not looked at twice within a moment.
        for number, name in enumerate(IN_PROJECT):
            os.link(work / name, work / "src" / f"second-{number}.txt")
        for number, name in enumerate(IN_PROJECT):
            assert all(await reasons(at_work, "read_file", filePath=f"src/second-{number}.txt")), name


async def test_examples_and_public_halves_are_plain_files(home: Path, work: Path) -> None:
    async with open_file_tool(home, work, work.parent / "nobody") as at_work:
        for name in PLAIN:
            assert await reasons(at_work, "read_file", filePath=name) == [""], name


@pytest.mark.case("AUTHZ-14")
async def test_reading_an_environment_file_is_asked_about_in_every_mode_and_its_example_in_none(
    home: Path, work: Path
) -> None:
    def read(name: str) -> dict[str, object]:
        return {"call": "file_operations", "arguments": {"operation": "read_file", "filePath": name}}

    for mode, name, asked in (("ask", ".env", 1), ("auto_approve", ".env.local", 1), ("ask", ".env.example", 0)):
        settings = {"working_directory": str(work), "mode": mode}
        async with open_chat(home, [[read(name)], "Done."], settings=settings) as chat:
            await chat.say()
            assert len(await chat.items("question")) == asked
            assert not any(CANARY in text for text in await chat.texts())


async def test_a_folder_named_like_an_environment_file_is_a_folder(home: Path, tmp_path: Path) -> None:
    module = tmp_path / "project" / ".env" / "lib" / "site.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n")
    async with open_file_tool(home, tmp_path / "project", tmp_path / "nobody") as at_work:
        assert await reasons(at_work, "read_file", filePath=".env/lib/site.py") == [""]


# --- searching and git ---


async def test_no_search_and_no_index_tells_of_a_credential(
    home: Path, person: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(person))
    os.link(person / ".netrc", work / "innocent.txt")
    for folder in (person, work):
        async with open_search_tool(home, folder) as search:
            for operation, more in (
                ("grep_search", {"includeHidden": True, "includeIgnored": True}),
                ("text_search", {}),
            ):
                output = await search.call(operation, query="canary", **more)
                assert CANARY not in output.text, output.text


async def test_no_difference_that_git_shows_has_a_credential_in_it(home: Path, tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project", readme__md="Hello\n", app__py="x = 1\n")
    (folder / ".env").write_text("A=1\n")
    (folder / "server.pem").write_text("A\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Keys")
    for name in (".env", "server.pem", "app.py"):
        (folder / name).write_text(CANARY if name != "app.py" else "x = 2\n")
    async with open_git_tool(home, folder) as at_work:
        text = (await at_work.does("get_changed_files", include_diff=True)).text
    assert CANARY not in text
    assert "+x = 2" in text


async def test_a_credential_is_not_shown_by_its_former_name(home: Path, tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project", __env=f"{CANARY}\n" + "A=1\n" * 10, old__py="x = 1\n" * 10)
    for name, new in ((".env", "notes.txt"), ("old.py", "new.py")):
        git(folder, "mv", name, new)
    (folder / "notes.txt").write_text("A=1\n" * 10)
    git(folder, "add", ".")
    async with open_git_tool(home, folder) as at_work:
        text = (await at_work.does("get_changed_files", include_diff=True)).text
    assert "notes.txt: renamed, staged (from .env)" in text
    assert CANARY not in text
    # What else was renamed is shown on both sides.
    assert "-x = 1" in text
    assert "+x = 1" in text


# --- both sandboxes ---


@pytest.mark.case("SECRET-09")
async def test_no_credential_is_there_for_a_command(held: Sandbox, person: Path) -> None:
    output = await printed(held, person, *(person / name for name in CREDENTIALS), person / "code" / "plain.txt")
    assert CANARY.encode() not in output
    assert b"nothing secret" in output


@pytest.mark.case("FS-04")
async def test_a_second_name_for_a_credential_is_not_there_for_a_command(
    held: Sandbox, person: Path, work: Path
) -> None:
    links = [work / "src" / f"notes-{number}.txt" for number in range(len(CREDENTIALS))]
    for name, link in zip(CREDENTIALS, links, strict=True):
        os.link(person / name, link)
    output = await printed(held, work, *links, work / "src" / "env.py")
    assert CANARY.encode() not in output
    assert b"nothing secret" in output


async def test_a_projects_programs_read_its_own_environment_file(held: Sandbox, work: Path) -> None:
    assert CANARY.encode() in await printed(held, work, work / ".env")


# --- moved by a variable ---


@pytest.mark.parametrize("variable", MOVED_BY)
def test_a_place_that_a_variable_moves_is_the_same_place(variable: str, tmp_path: Path) -> None:
    moved, usual = tmp_path / "elsewhere", MOVED_BY[variable]
    inner = [place for place in HOME if place.path.startswith(f"{usual}/")] if usual.startswith(".") else []
    every = [place.path.removeprefix(f"{usual}/") for place in inner] or ["x"]
    secret = [place.path.removeprefix(f"{usual}/") for place in inner if place.kind == "secret"]
    if not usual:
        every, secret = [".zshrc"], [".zsh_history"]
    for name in (*every, *secret):
        (moved / name).mkdir(parents=True, exist_ok=True)
    environ = {"HOME": str(tmp_path / "person"), variable: str(moved)}
    guard = Protected(tmp_path / "data", tmp_path / "person", environ)
    hidden = hidden_places(tmp_path / "data", environ)
    whole = any(usual == place.path or usual.startswith(f"{place.path}/") for place in HOME)
    for name in every:
        assert guard.protects(str(moved / name / "new"), None)
        assert bool(guard.protects(str(moved / "beside" / "new"), None)) is whole
    for name in secret:
        assert guard.protects(str(moved / name / "new"), None, "reads")
        assert any((moved / name).is_relative_to(place) for place in hidden)


@pytest.mark.parametrize("value", ["/", "relative", "", "/dev/null", "{person}", "{person}/.."])
def test_a_variable_that_names_everything_or_nothing_closes_nothing(value: str, tmp_path: Path) -> None:
    person = tmp_path / "person"
    person.mkdir()
    environ = {"HOME": str(person)} | dict.fromkeys(MOVED_BY, value.format(person=person))
    guard = Protected(tmp_path / "data", person, environ)
    assert guard.protects(str(person / "code" / "a.py"), None) == ""
    assert guard.protects("/srv/project/a.py", None) == ""
    assert hidden_places(tmp_path / "data", {"HOME": str(person)}) == hidden_places(tmp_path / "data", environ)
