"""Changes that would run by themselves later: asked about also where changes are free, whatever the name leads to."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from tests.support.chats import Chat, open_chat
from tests.support.files import FileCalls, open_file_tool
from tests.support.repositories import git, make_repository


def names(text: str) -> list[str]:
    return text.split()


IN_PROJECT = names("""
.yarnrc.yml .npmrc .pnpmfile.cjs .cargo/config.toml .hg/hgrc lefthook.yml .lefthook.yaml lefthook-local.json mise.toml
.mise.toml mise.local.toml app.code-workspace .envrc .pre-commit-config.yaml .husky/pre-commit .githooks/pre-push
.git/hooks/pre-commit .vscode/tasks.json .vscode/mcp.json .idea/workspace.xml .devcontainer/devcontainer.json .exrc
.dir-locals.el sitecustomize.py .mvn/extensions.xml .Rprofile .pdbrc .irbrc .pryrc .ghci .gdbinit
.codesandbox/tasks.json .replit .gitpod/automations.yaml .github/hooks/a.json .amp/settings.json
.gitlab-ci.yml Jenkinsfile azure-pipelines.yml .circleci/config.yml bitbucket-pipelines.yml .drone.yml .woodpecker.yml
.woodpecker/build.yml .travis.yml appveyor.yml cloudbuild.yaml .buildkite/pipeline.yml .github/workflows/ci.yml
.github/actions/a/action.yml .forgejo/workflows/ci.yml .gitea/workflows/ci.yml .cirrus.yml buildspec.yml
.semaphore/a.yml
AGENTS.md sub/AGENTS.md CLAUDE.md GEMINI.md .cursorrules .cursor/mcp.json .windsurfrules .clinerules .clinerules/a.md
.github/copilot-instructions.md .github/instructions/a.instructions.md .mcp.json .claude/settings.json
.codex/config.toml
.gemini/settings.json .kiro/steering/a.md .aider.conf.yml .junie/guidelines.md opencode.json .roo/rules/a.md
""")
# Of these, what only tells assistants something: it changes with a branch, and commands may change it.
WORDS = names("""
AGENTS.md sub/AGENTS.md CLAUDE.md GEMINI.md .cursorrules .windsurfrules .clinerules .clinerules/a.md
.github/copilot-instructions.md .github/instructions/a.instructions.md
""")
AT_HOME = names("""
.bashrc .profile .profile.d/a.sh .zshrc .config/fish/conf.d/a.fish .config/autostart/a.desktop
.config/systemd/user/a.service Library/LaunchAgents/a.plist .gitconfig .config/git/hooks/pre-commit
.git-templates/hooks/pre-commit .config/nvim/init.lua .vimrc .emacs.d/init.el .config/Code/User/settings.json
.config/environment.d/a.conf .local/share/applications/a.desktop .cargo/config.toml .tmux.conf .config/starship.toml
.ipython/profile_default/startup/a.py .config/pip/pip.conf .config/i3/config .config/containers/systemd/a.container
.config/sxhkd/sxhkdrc .hammerspoon/init.lua .config/kitty/kitty.conf .wezterm.lua .psqlrc .sqliterc
""")
ORDINARY = names("""
package.json Makefile pyproject.toml setup.py conftest.py tox.ini Dockerfile docker-compose.yml README.md src/app.py
tests/conftest.py .gitignore .gitattributes .editorconfig tsconfig.json vite.config.ts .eslintrc.json .prettierrc
pnpm-workspace.yaml Cargo.toml go.mod CMakeLists.txt .github/ISSUE_TEMPLATE/bug.md .github/CODEOWNERS
.github/pull_request_template.md .config/app.toml docs/guide.md .python-version rust-toolchain.toml model.pth
""")


@pytest_asyncio.fixture
async def at_work(home: Path, work: Path) -> AsyncIterator[FileCalls]:
    async with open_file_tool(home, work, work.parent / "person") as opened:
        yield opened


async def asks(at: FileCalls, operation: str, **arguments: object) -> bool:
    return any(use.protected for use in (await at.touched(operation, **arguments)).paths)


def creating(name: str) -> dict[str, object]:
    given = {"operation": "create_file", "filePath": name, "content": "x\n"}
    return {"call": "file_operations", "arguments": given}


@contextmanager
def there(file: Path) -> Iterator[None]:
    """Have a file for a moment, and the folders that it takes."""
    made = [folder for folder in file.parents if not folder.exists()]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x\n")
    yield
    file.unlink()
    for folder in made:
        folder.rmdir()


def files_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


async def questions(chat: Chat) -> int:
    await chat.say()
    return len(await chat.items("question"))


# --- by name ---


@pytest.mark.case("FS-11", "SPAWN-06")
async def test_what_starts_by_itself_in_a_project_needs_a_word_of_its_own(at_work: FileCalls) -> None:
    (at_work.folder / "harmless").write_text("x\n")
    for name in IN_PROJECT:
        assert await asks(at_work, "create_file", filePath=name, content="x\n"), name
        assert await asks(at_work, "rename_file", filePath="harmless", newPath=name), name
        patch = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        assert await asks(at_work, "apply_patch", patch=patch), name
        # To read it is free.
        with there(at_work.folder / name):
            assert not await asks(at_work, "read_file", filePath=name), name


@pytest.mark.case("FS-11")
async def test_what_starts_by_itself_for_a_person_needs_a_word_of_its_own(home: Path, tmp_path: Path) -> None:
    person = tmp_path / "person"
    person.mkdir()
    async with open_file_tool(home, person, person) as at_home:
        free = [name for name in AT_HOME if not await asks(at_home, "create_file", filePath=name, content="x\n")]
        assert free == []


async def test_ordinary_work_needs_none(at_work: FileCalls) -> None:
    asked = [name for name in ORDINARY if await asks(at_work, "create_file", filePath=name, content="x\n")]
    assert asked == []


@pytest.mark.case("FS-11")
async def test_where_changes_are_free_these_ask_and_ordinary_work_does_not(home: Path, work: Path) -> None:
    settings = {"working_directory": str(work), "mode": "auto_edit"}
    asking = dict.fromkeys(("app.code-workspace", "AGENTS.md", ".git/hooks/pre-commit", ".mcp.json"), True)
    for name, asked in (asking | dict.fromkeys(("package.json", "Makefile"), False)).items():
        async with open_chat(home, [[creating(name)], "Done."], settings=settings) as chat:
            assert await questions(chat) == asked
            assert (work / name).exists() is not asked


# --- by what it leads to ---


@pytest.mark.case("FS-03", "FS-04")
@pytest.mark.parametrize("link", ["AGENTS.md", ".github/copilot-instructions.md", "app.code-workspace", ".npmrc"])
async def test_where_a_link_of_such_a_name_leads_is_such_a_place(at_work: FileCalls, link: str) -> None:
    (at_work.folder / "docs").mkdir()
    for name in ("docs/notes.txt", "docs/other.txt"):
        (at_work.folder / name).write_text("mine\n")
    (at_work.folder / link).parent.mkdir(parents=True, exist_ok=True)
    (at_work.folder / link).symlink_to(at_work.folder / "docs" / "notes.txt")
    change = {"oldString": "mine", "newString": "evil"}
    (use,) = (await at_work.touched("replace_string", filePath="docs/notes.txt", **change)).paths
    assert use.protected.lower().startswith(f"it is another name of {link}. ".lower().replace("app.", "*."))
    assert await asks(at_work, "delete_file", filePath=link)
    (through,) = (await at_work.touched("create_file", filePath=link, content="evil\n", overwrite=True)).paths
    assert (through.path, through.protected) == (use.path, use.protected)
    assert not await asks(at_work, "replace_string", filePath="docs/other.txt", **change)
    assert not await asks(at_work, "read_file", filePath="docs/notes.txt")


@pytest.mark.case("FS-03")
async def test_a_folder_that_such_a_link_leads_to_is_such_a_place(at_work: FileCalls) -> None:
    (at_work.folder / "tools" / "rules").mkdir(parents=True)
    (at_work.folder / ".cursor").symlink_to("tools")
    assert await asks(at_work, "create_file", filePath="tools/rules/new.mdc", content="x\n")
    assert not await asks(at_work, "create_file", filePath="toolset/new.mdc", content="x\n")


@pytest.mark.case("FS-03")
async def test_an_innocent_link_to_such_a_place_is_such_a_place(at_work: FileCalls) -> None:
    hook = at_work.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(parents=True)
    hook.write_text("honest\n")
    (at_work.folder / "innocent.txt").symlink_to(hook)
    (use,) = (await at_work.touched("create_file", filePath="innocent.txt", content="evil\n", overwrite=True)).paths
    assert (use.path, bool(use.protected)) == (str(hook), True)
    assert not await asks(at_work, "read_file", filePath="innocent.txt")


@pytest.mark.case("FS-04")
@pytest.mark.parametrize("name", ["AGENTS.md", "app.code-workspace", ".github/workflows/ci.yml"])
async def test_a_second_name_of_such_a_file_is_such_a_place(at_work: FileCalls, name: str) -> None:
    for file in (at_work.folder / name, at_work.folder / "sub" / "notes.txt"):
        file.parent.mkdir(parents=True, exist_ok=True)
    (at_work.folder / name).write_text("honest\n")
    os.link(at_work.folder / name, at_work.folder / "sub" / "notes.txt")
    assert await asks(at_work, "replace_string", filePath="sub/notes.txt", oldString="honest", newString="evil")


# --- by commands ---


@pytest.mark.case("FS-11", "SPAWN-06")
async def test_a_command_cannot_change_what_there_is_of_them(held: Sandbox, work: Path) -> None:
    for name in (each for each in IN_PROJECT if not each.startswith(".git/") and each not in WORDS):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("honest\n")
    (work / "notes.txt").write_text("honest\n")
    (work / "lefthook.toml").symlink_to("notes.txt")
    script = 'for name; do echo evil > "$name"; rm -f "$name"; done 2>/dev/null; echo mine > src.py; echo done'
    kept = files_in(work)
    ran = await SandboxRunner(held).run(["bash", "-c", script, "bash", *map(str, kept)], str(work), 20.0)
    assert b"done" in ran.output, ran.errors
    assert [str(path) for path in kept if not path.exists() or path.read_text() != "honest\n"] == []
    assert (work / "src.py").read_text() == "mine\n"


async def test_git_switches_to_a_branch_with_other_words_for_assistants(held: Sandbox, tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project", AGENTS__md="Be kind.\n", app__py="x = 1\n")
    git(folder, "branch", "other")
    script = "echo 'x = 2' > app.py && echo 'Be brief.' > AGENTS.md && git commit -qam Second && git checkout -q other"
    ran = await SandboxRunner(held).run(
        ["bash", "-c", f"{script} && cat AGENTS.md && git merge -q main && cat AGENTS.md app.py"], str(folder), 20.0
    )
    assert (ran.exit_code, ran.output) == (0, b"Be kind.\nBe brief.\nx = 2\n"), ran.errors


@pytest.mark.case("FS-11")
async def test_no_name_keeps_commands_from_running(held: Sandbox, work: Path) -> None:
    odd = ["-rf", "a b", "*", "a\\nb", "a'b", 'a"b', "$(true)", os.fsdecode(b"\xff"), "\u00e9", "a\nb"]
    for name in (*odd, *map(str, range(300))):
        (work / f"{name}.code-workspace").write_text("honest\n")
    script = "for name in *.code-workspace; do echo evil > ./$name; done 2>/dev/null; echo done > a.txt; cat a.txt"
    ran = await SandboxRunner(held).run(["bash", "-c", script], str(work), 20.0)
    assert ran.output == b"done\n", ran.errors
