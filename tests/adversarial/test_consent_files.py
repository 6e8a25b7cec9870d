"""Attacks on what was agreed to: every file that a command line names is what it was, or the person is asked again."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pilothouse.mcp.servers.consent import Agreed, Consents, look, shown
from pilothouse.mcp.servers.forms import drafted
from pilothouse.secrets.store import SecretStore
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import Consent, ConsentGiven, ServerEntry, ServerInput
from tests.adversarial.conftest import earlier_program
from tests.support.mcp_hosting import open_mcp_host
from tests.support.mcp_servers import scripted

SCRIPTED = scripted()[1]
LAUNCHERS = (
    *("uv", "uvx", "npx", "npm", "pnpm", "bun", "bunx", "deno", "node", "tsx", "ts-node", "java", "fastmcp", "mcp"),
    *(
        "poetry",
        "pipx",
        "dotnet",
        "go",
        "ruby",
        "php",
        "Rscript",
        "docker",
        "python3",
        "env",
        "timeout",
        "nice",
        "make",
    ),
)
FILES = (
    *("s.py", "s.js", "s.ts", "s.rb", "s.php", "s.R", "s.sh", "main.go", "x.jar", "x.dll", "x.pyz", "hook.mjs", ".env"),
    *("compose.yml", "fastmcp.json"),
    *("package.json", "Makefile", "run", "lib/util.rb", "a b/s.py", "node_modules/.bin/tsx", ".venv/bin/serve"),
)

# Each form of a command, and the file that it runs or reads first.
FORMS = [
    ("python3 s.py", "s.py"),
    ("python3 -X utf8 s.py", "s.py"),
    ("python3 -X utf8 run", "run"),
    ("python3 -u -W ignore s.py --db memory.json", "s.py"),
    ("python3 x.pyz", "x.pyz"),
    ("node -e 'require(\"./s.js\")'", "s.js"),
    ("node -e \"import('file://$D/s.js')\"", "s.js"),
    ("bash -c 'source ./.env; exec python3 s.py'", ".env"),
    ("bash -c '. ./run; exec python3 s.py'", "run"),
    ("make -f Makefile serve", "Makefile"),
    ("docker compose -f $D/compose.yml run srv", "compose.yml"),
    ("fastmcp run fastmcp.json", "fastmcp.json"),
    ("python3 'a b/s.py'", "a b/s.py"),
    ("python3 s.py --config ./c.json", "s.py"),
    ("uv --directory $D run s.py", "s.py"),
    ("uv run --with x s.py", "s.py"),
    ("uv run --script s.py", "s.py"),
    ("uv --project=$D run python3 s.py", "s.py"),
    ("uv run serve", ".venv/bin/serve"),
    ("uvx --from . --with-requirements=s.py tool", "s.py"),
    ("poetry run python3 s.py", "s.py"),
    ("poetry -C $D run s.py", "s.py"),
    ("pipx run ./s.py", "s.py"),
    ("env A=1 python3 s.py", "s.py"),
    ("env -C $D A=1 python3 run", "run"),
    ("timeout 5 python3 s.py", "s.py"),
    ("nice -n 5 python3 s.py", "s.py"),
    ("fastmcp run s.py", "s.py"),
    ("fastmcp run s.py:mcp", "s.py"),
    ("mcp run s.py", "s.py"),
    ("node s.js", "s.js"),
    ("node --import ./hook.mjs s.js", "hook.mjs"),
    ("node --import ./hook.mjs s.js", "s.js"),
    ("node --env-file=.env s.js", ".env"),
    ("node --env-file .env run", "run"),
    ("npx tsx s.ts", "s.ts"),
    ("npx tsx s.ts", "node_modules/.bin/tsx"),
    ("tsx s.ts", "s.ts"),
    ("ts-node --files s.ts", "s.ts"),
    ("deno run -A s.ts", "s.ts"),
    ("bun run s.ts", "s.ts"),
    ("npm --prefix $D run start", "package.json"),
    ("npm start", "package.json"),
    ("java -jar x.jar", "x.jar"),
    ("java -cp lib:x.jar Main", "x.jar"),
    ("java -javaagent:x.jar=on Main", "x.jar"),
    ("dotnet x.dll", "x.dll"),
    ("go run main.go", "main.go"),
    ("ruby -I lib s.rb", "s.rb"),
    ("ruby -Ilib -rlib/util.rb s.rb", "lib/util.rb"),
    ("php s.php", "s.php"),
    ("Rscript s.R", "s.R"),
    ("bash s.sh", "s.sh"),
    ("sh -c 'cd $D && exec python3 s.py'", "s.py"),
    ("sh -c 'python3 run'", "run"),
    ("docker run -i --rm -v $D/s.py:/s.py python@sha256:" + "0" * 64 + " python /s.py", "s.py"),
    ("docker run -i --rm --env-file .env image", ".env"),
    ("make serve", "Makefile"),
]
NAMES = [f"{line} ({file})" for line, file in FORMS]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of every kind, and launchers that all start the same server whatever they are told."""
    folder, programs = tmp_path / "project", tmp_path / "bin"
    programs.mkdir()
    for name in LAUNCHERS:
        (programs / name).write_text(f"#!/bin/sh\nexec {sys.executable} -S {SCRIPTED}\n")
        (programs / name).chmod(0o755)
    for shell in ("sh", "bash"):
        (programs / shell).write_text((programs / "node").read_text())
        (programs / shell).chmod(0o755)
    for name in (*FILES, "memory.json", "c.json", "app.log"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the first {name}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return folder


def body(line: str, project: Path, **more: object) -> ServerInput:
    text = line.replace("$D", str(project))
    return ServerInput(name="Mine", command_line=text, cwd=str(project), **more)  # type: ignore[arg-type]


def entry(line: str, project: Path, **more: object) -> ServerEntry:
    return drafted(body(line, project, **more), "one").entry


def asked(subject: ServerEntry, before: Agreed | None = None) -> Consent:
    return shown(subject, look(subject, before), before)


@pytest.mark.case("SPAWN-03", "SPAWN-12")
async def test_a_changed_file_voids_consent_and_an_unchanged_one_asks_nothing(home: Path, project: Path) -> None:
    script = project / "s.py"
    async with open_mcp_host(home) as hosted:
        view = await hosted.add(body("env A=1 python3 s.py", project), agree=False)
        assert view.consent is not None
        assert str(script) in view.consent.files
        await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
        assert (await hosted.admin.test(ME, "Mine")).ok
    # What the server keeps is its own affair.
    (project / "memory.json").write_text('{"a": "note"}')
    (project / "app.log").write_text("a line\n")
    async with open_mcp_host(home) as hosted:
        assert (await hosted.view("Mine")).consent is None
        assert (await hosted.admin.test(ME, "Mine")).ok
        await hosted.admin.disconnect(ME, "Mine")
        script.write_text("evil\n")
        assert not (await hosted.admin.test(ME, "Mine")).ok
        view = await hosted.view("Mine")
        assert view.state == "needs_consent"
        assert view.consent is not None
        assert view.consent.changes == (f"The content of {script} changed.",)
        await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
        assert (await hosted.admin.test(ME, "Mine")).ok


@pytest.mark.case("SPAWN-03", "SPAWN-12")
@pytest.mark.parametrize(("line", "file"), FORMS, ids=NAMES)
def test_in_every_form_of_command_a_changed_file_voids_consent_and_an_unchanged_one_does_not(
    project: Path, line: str, file: str
) -> None:
    subject = entry(line, project)
    agreed = look(subject)
    assert str(project / file) in asked(subject).files
    # What the server keeps is its own affair.
    (project / "memory.json").write_text('{"a": "note"}')
    (project / "app.log").write_text("a line\n")
    assert agreed.allows(look(subject, agreed))
    (project / file).write_text("evil\n")
    now = look(subject, agreed)
    assert not agreed.allows(now)
    assert shown(subject, now, agreed).changes == (f"The content of {project / file} changed.",)
    assert now.allows(look(subject, now))


@pytest.mark.case("SPAWN-03")
@pytest.mark.parametrize(
    "line",
    [
        "python3 s.py --db ./memory.json",
        "python3 s.py memory.json",
        "python3 -m server memory.json",
        "npx -y @scope/server@1.2.3 --memory memory.json",
        "npx --yes --quiet server@1.2.3 --memory memory.json",
        "uvx server --db-path memory.json",
        "deno run -A npm:server --db memory.json",
        "env LOG=memory.json fastmcp run s.py",
        "docker run -i --rm -v $D/memory.json:/data.json image",
        "node s.js --log-file memory.json",
        "bun run start memory.json",
    ],
)
def test_what_a_server_keeps_as_data_is_no_part_of_the_consent(project: Path, line: str) -> None:
    subject = entry(line, project, plain_env={"MEMORY_FILE_PATH": str(project / "memory.json")})
    agreed = look(subject)
    (project / "memory.json").write_text('{"another": "note"}')
    assert look(subject, agreed).fingerprint() == agreed.fingerprint()


def test_a_file_that_the_server_writes_is_no_part_of_the_consent(project: Path) -> None:
    subject = entry("node s.js --out bundle.js", project)
    agreed = look(subject)
    (project / "bundle.js").write_text("made")
    assert look(subject, agreed).fingerprint() == agreed.fingerprint()


@pytest.mark.case("SPAWN-03")
@pytest.mark.parametrize(
    "variables",
    [{"NODE_OPTIONS": "--require ./hook.mjs"}, {"PYTHONSTARTUP": "hook.mjs"}, {"LD_PRELOAD": "./hook.mjs:/x.so"}],
)
def test_code_that_a_variable_names_is_bound_as_well(project: Path, variables: dict[str, str]) -> None:
    subject = entry("node s.js", project, plain_env=variables)
    agreed = look(subject)
    (project / "hook.mjs").write_text("evil")
    now = asked(subject, agreed)
    assert now.changes == (f"The content of {project / 'hook.mjs'} changed.",)


CODE = "can make the program load other code"
ELSEWHERE = "sends what the program says and gets through a proxy"
GENUINE = "changes which machines the program takes for genuine"


@pytest.mark.case("SPAWN-03")
@pytest.mark.parametrize(
    ("variable", "words"),
    [
        *((name, CODE) for name in ("NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")),
        *(
            (name, CODE)
            for name in ("NPM_CONFIG_REGISTRY", "npm_config_script_shell", "DOTNET_STARTUP_HOOKS", "LUA_INIT")
        ),
        *((name, ELSEWHERE) for name in ("HTTPS_PROXY", "http_proxy", "ALL_PROXY")),
        *((name, GENUINE) for name in ("NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE")),
    ],
)
def test_a_variable_that_changes_what_runs_or_whom_it_talks_to_is_warned_about(
    project: Path, variable: str, words: str
) -> None:
    subject = entry("node s.js", project, plain_env={variable: "x"})
    assert f"The variable {variable} {words}." in asked(subject).warnings


@pytest.mark.parametrize("variable", ["MODE", "env", "GIT_CONFIG_NOSYSTEM", "NO_PROXY", "API_KEY_PATH"])
def test_an_ordinary_variable_is_not_warned_about(project: Path, variable: str) -> None:
    subject = entry("node s.js", project, plain_env={variable: "x"})
    assert not [warning for warning in asked(subject).warnings if "variable" in warning]


@pytest.mark.case("SPAWN-03")
def test_a_file_that_appears_or_goes_is_told(project: Path) -> None:
    subject = entry("uv --directory $D run late.py", project)
    agreed = look(subject)
    (project / "late.py").write_text("evil")
    now = look(subject, agreed)
    assert shown(subject, now, agreed).changes == (f"{project / 'late.py'} is new among the files that it runs.",)
    (project / "late.py").unlink()
    assert "is gone" in asked(subject, now).changes[0]


@pytest.mark.case("SPAWN-05")
def test_what_a_first_line_leads_to_is_bound_and_the_declared_path_counts_for_it(project: Path, tmp_path: Path) -> None:
    (project / "run").write_text("#!/usr/bin/env node\n")
    subject = entry(str(project / "run"), project)
    agreed = look(subject)
    node = tmp_path / "bin" / "node"
    assert str(node) in [file.path for file in agreed.files]
    node.write_text("#!/bin/sh\nevil\n")
    assert asked(subject, agreed).changes == (f"The content of {node} changed.",)
    # Another folder before it, as the server's own PATH has it.
    earlier = earlier_program(tmp_path, "node")
    declared = entry(str(project / "run"), project, plain_env={"PATH": f"{earlier}:/usr/bin:/bin"})
    assert str(earlier / "node") in asked(declared).files
    assert str(node) not in asked(declared).files


@pytest.mark.case("SPAWN-05")
def test_another_interpreter_before_the_one_that_was_found_voids_consent(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = entry("env A=1 python3 s.py", project)
    agreed = look(subject)
    earlier = earlier_program(tmp_path, "python3")
    monkeypatch.setenv("PATH", f"{earlier}:{os.environ['PATH']}")
    now = asked(subject, agreed)
    assert any(str(earlier / "python3") in change for change in now.changes)


@pytest.mark.case("SPAWN-03")
def test_a_folder_that_is_swapped_for_a_link_voids_consent(project: Path, tmp_path: Path) -> None:
    subject = entry("python3 -m server", project)
    agreed = look(subject)
    project.rename(tmp_path / "old")
    (tmp_path / "evil").mkdir()
    project.symlink_to(tmp_path / "evil")
    now = asked(subject, agreed)
    assert now.fingerprint != agreed.fingerprint()
    assert now.changes == (f"Where its folders lead: was no links, is {project} → {tmp_path / 'evil'}.",)


def test_a_folder_that_always_was_a_link_asks_nothing(project: Path, tmp_path: Path) -> None:
    link = tmp_path / "current"
    link.symlink_to(project)
    subject = entry("python3 s.py", link)
    agreed = look(subject)
    assert look(subject, agreed).fingerprint() == agreed.fingerprint()
    assert asked(subject).folder == str(link)


@pytest.mark.case("SPAWN-04")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("python3 -m server", "Runs the module server, not a file: what runs may change"),
        ("env A=1 python3 -um server", "Runs the module server"),
        ("python3 .", "python3 is given no file to run: what runs may change"),
        ("node $D", "node is given no file to run"),
        ("npx -y some-server", "No version is given: what runs may change"),
        ("npx -y some-server@1", "No version is given"),
        ("npx -y -p thing server", "No version is given for thing"),
        ("bunx some-server", "No version is given for some-server"),
        ("pipx run some-server", "No version is given for some-server"),
        ("uvx some-server", "No version is given"),
        ("uvx --from git+https://host.example/x server", "No version is given for git+https://host.example/x"),
        ("uv tool run some-server", "No version is given for some-server"),
        ("npm exec some-server", "No version is given for some-server"),
        ("npm start", "npm runs what is in its folder: what runs may change"),
        ("make serve", "make runs what is in its folder"),
        ("go run .", "go runs what is in its folder"),
        ("uv run entry", "uv runs what its project or its environment has: what runs may change"),
        ("docker run -i --rm image", "The image is not named by its digest: what runs may change"),
        ("docker run -i --rm -e X image:1.2.3", "The image is not named by its digest"),
    ],
)
def test_the_card_says_of_what_no_file_stands_for_that_it_can_change(project: Path, line: str, said: str) -> None:
    warnings = asked(entry(line, project)).warnings
    assert any(warning.startswith(said) and warning.endswith("not asked again.") for warning in warnings), warnings


@pytest.mark.case("SPAWN-04")
@pytest.mark.parametrize(
    "line",
    [
        *(
            line
            for line, _ in FORMS
            if not line.startswith(
                ("npm", "make", "docker compose", "docker run -i --rm --env", "uvx --from", "java -")
            )
        ),
        "npx -y server@1.2.3",
        "npx -y @scope/server@1.2.3",
        "uvx server==1.2",
        "uvx server@1.2",
        "uvx --from server==1.2.3 tool",
        "python3 -c 'print()'",
        "node -e 'x'",
        "docker run -i --rm image@sha256:" + "a" * 64,
    ],
)
def test_the_card_does_not_say_so_of_what_is_bound(project: Path, line: str) -> None:
    warnings = asked(entry(line, project)).warnings
    assert not any("may change" in warning for warning in warnings), warnings


@pytest.mark.parametrize("kind", [0, 1])
def test_a_consent_of_before_all_files_were_bound_asks_nothing_and_binds_them_at_the_next_start(
    project: Path, tmp_path: Path, kind: int
) -> None:
    (tmp_path / "link").symlink_to(project)
    (tmp_path / "secrets").mkdir(mode=0o700)
    consents = Consents(tmp_path / "secrets" / "consents.json", SecretStore(tmp_path / "secrets"))
    subject = entry(f"uv --directory {tmp_path / 'link'} run s.py", project)
    now = look(subject)
    # Where its folders lead was bound from the first kind on.
    places = now.places if kind else ()
    old = msgspec.structs.replace(now, files=now.files[:1], kind=kind, places=places, moving=())
    consents.give("one", old)
    kept = consents.agreed("one")
    assert kept is not None
    assert kept.allows(look(subject, kept))
    # What it was bound to counts as before.
    Path(now.files[0].path).write_text("#!/bin/sh\nevil\n")
    assert not kept.allows(look(subject, kept))


@pytest.mark.case("SPAWN-12")
def test_a_large_file_is_known_by_its_size_and_time_and_the_card_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HASHED_FILE_BYTES", 5)
    (project / "x.jar").write_text("another jar")
    subject = entry("java -jar x.jar", project)
    agreed = look(subject)
    assert any(warning.startswith(f"{project / 'x.jar'} is large") for warning in asked(subject).warnings)
    (project / "x.jar").write_text("anothr jar!")
    os.utime(project / "x.jar", (1, 1))
    assert asked(subject, agreed).changes == (f"The content of {project / 'x.jar'} changed.",)


def test_a_line_that_names_too_much_is_looked_at_in_bounded_time_and_says_so(project: Path) -> None:
    subject = entry("python3 s.py", project)
    many = tuple(",".join(f"x{number}.py" for number in range(1_000)) for _ in range(200))
    subject = msgspec.structs.replace(subject, config=msgspec.structs.replace(subject.config, args=("s.py", *many)))
    assert any("names more than is looked at" in warning for warning in asked(subject).warnings)


@pytest.mark.case("SPAWN-05")
def test_an_interpreter_that_only_the_system_can_change_is_known_by_its_place() -> None:
    """Seen as an account without rights: an update of the system asks nothing; what is one's own is read."""
    program = (
        "import os, pwd, sys, tempfile\n"
        "from pathlib import Path\n"
        "from pilothouse.mcp.servers.programs import facts_of\n"
        "if os.getuid() == 0: os.setgroups([]), os.setgid(65534), os.setuid(65534)\n"
        "with tempfile.NamedTemporaryFile() as mine:\n"
        "    for path in ('/bin/sh', mine.name): print(facts_of(Path(path), found=True).sha256)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    system, own = done.stdout.split()
    assert system == "system"
    assert len(own) == 64


async def test_whoever_asks_while_a_command_is_being_looked_at_is_told_that_it_waits_for_consent(home: Path) -> None:
    async with open_mcp_host(home) as hosted:
        made = await hosted.add(ServerInput(name="Mine", command=sys.executable, args=(SCRIPTED,)), agree=False)
        hosted.supervisor.restart(made.id)
        lists = await asyncio.gather(*(hosted.admin.list(ME) for _ in range(3)))
        assert [each.servers[0].state for each in lists] == ["needs_consent"] * 3
        again = asyncio.create_task(hosted.server("Mine").check_consent())
        seen = set()
        while not again.done():
            seen.add(hosted.server("Mine").state)
            await asyncio.sleep(0)
        assert again.exception() is not None
        assert seen == {"needs_consent"}, "looking once more is no reason to offer it"


async def test_a_command_that_changed_under_the_persons_eyes_is_shown_as_it_is_now(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("print()")
    async with open_mcp_host(home) as hosted:
        made = await hosted.add(ServerInput(name="Mine", command=sys.executable, args=(str(script),)), agree=False)
        assert made.consent is not None
        script.write_text(script.read_text() + "\n# other\n")
        with pytest.raises(PilothouseError, match="changed since you looked at it"):
            await hosted.admin.consent(ME, made.id, ConsentGiven(fingerprint=made.consent.fingerprint))
        now = await hosted.view("Mine")
        assert now.state == "needs_consent"
        assert now.consent is not None
        assert now.consent.fingerprint != made.consent.fingerprint
        agreed = await hosted.admin.consent(ME, made.id, ConsentGiven(fingerprint=now.consent.fingerprint))
        assert agreed.consent is None
