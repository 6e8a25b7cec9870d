"""A package that says it is a plugin: nothing of it runs before a person enables exactly what is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pilothouse.types.api import ConfigPatch
from pilothouse.types.errors import PilothouseError
from pilothouse.types.plugin_views import PluginView
from pilothouse.wiring import OpenHost, open_host
from tests.plugins.test_plugins import GREETER, SCRIPT
from tests.support.chats import ME, open_chat
from tests.support.commands import pilothouse
from tests.support.packages import enable, install

# Leaves a mark when it is imported.
MARKING = "import pathlib; pathlib.Path({mark!r}).touch()\n"


async def the_view(host: OpenHost) -> PluginView:
    [view] = (await host.api.settings.get(ME)).plugins
    return view


async def test_an_installed_plugin_is_off_and_not_imported_until_it_is_enabled(home: Path, packages: Path) -> None:
    mark = packages / "imported"
    install(packages, "unasked", MARKING.format(mark=str(mark)) + "def pilothouse_tools(context): return []\n")
    async with open_host(home) as host:
        view = await the_view(host)
        assert view.off == "It is off until you enable it: pilothouse plugins enable unasked"
        assert (view.hooks, view.problem, view.enabled_at, mark.exists()) == ((), "", None, False)
        assert "unasked" not in sys.modules
        now = (await host.api.settings.update(ME, ConfigPatch(plugins={"unasked": view.digest}))).plugins[0]
        assert (now.off, now.hooks, now.enabled_by, mark.exists()) == ("", ("tools",), ME, True)
        assert now.enabled_at is not None
    async with open_host(home) as host:
        assert (await the_view(host)).off == "", "the twin: what was enabled stays so"
        await host.api.settings.update(ME, ConfigPatch(plugins={"unasked": None}))
        assert (await the_view(host)).off
    async with open_host(home) as host:
        assert (await the_view(host)).off


@pytest.mark.parametrize("change", ["version", "content", "submodule"])
async def test_a_plugin_that_changed_is_off_again_and_says_so(home: Path, packages: Path, change: str) -> None:
    name = f"changing_{change}"
    install(packages, name, GREETER)
    (packages / name).mkdir()
    (packages / f"{name}.py").rename(packages / name / "__init__.py")
    (packages / name / "more.py").write_text("x = 1\n")
    enable(home)
    async with open_host(home) as host:
        assert (await the_view(host)).off == ""
    if change == "version":
        old = packages / f"{name}-1.2.3.dist-info"
        (old / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.4\n")
        old.rename(packages / f"{name}-1.2.4.dist-info")
    else:
        file = packages / name / ("more.py" if change == "submodule" else "__init__.py")
        file.write_text(file.read_text() + "\n# other\n")
    async with open_host(home) as host:
        said = (await the_view(host)).off
        words = (
            "is changing_version 1.2.4 now and was changing_version 1.2.3" if change == "version" else "files changed"
        )
        assert words in said
        assert said.endswith(f"Enable it again: pilothouse plugins enable {name}")
        assert any(said in notice.message for notice in host.api._feed._notices.values())


async def test_what_compiling_leaves_behind_changes_nothing(home: Path, packages: Path) -> None:
    install(packages, "compiled", GREETER)
    enable(home)
    (packages / "__pycache__").mkdir(exist_ok=True)
    (packages / "__pycache__" / "compiled.cpython-311.pyc").write_bytes(b"x")
    async with open_host(home) as host:
        assert (await the_view(host)).off == ""


async def test_another_digest_than_what_is_there_enables_nothing(home: Path, packages: Path) -> None:
    install(packages, "swapped", GREETER)
    async with open_host(home) as host:
        seen = (await the_view(host)).digest
        (packages / "swapped.py").write_text("raise SystemExit")
        with pytest.raises(PilothouseError, match="changed since you looked at it"):
            await host.api.settings.update(ME, ConfigPatch(plugins={"swapped": seen}))
        view = await the_view(host)
        assert view.off
        assert view.digest != seen, "looking again shows what is there"
        with pytest.raises(PilothouseError, match="There is no plugin"):
            await host.api.settings.update(ME, ConfigPatch(plugins={"nobody": seen}))


async def test_whoever_writes_the_file_cannot_enable_anything(home: Path, packages: Path) -> None:
    install(packages, "forged", GREETER)
    install(packages, "other", GREETER.replace('"greet"', '"other"'))
    enable(home, "other")
    file = home / "plugins" / "enabled.json"
    sealed = json.loads(file.read_text())["other"]
    file.write_text(json.dumps({"forged": sealed, "other": "AAAA"}))
    async with open_host(home) as host:
        assert all(view.off for view in (await host.api.settings.get(ME)).plugins)


async def test_a_tool_that_says_nothing_about_what_it_touches_is_asked_about_and_counts_as_a_way_out(
    home: Path, packages: Path
) -> None:
    install(packages, "silent", GREETER.replace("        touches_nothing = True\n", ""))
    enable(home)
    async with open_chat(home, SCRIPT) as chat:
        assert (await chat.say("Greet Ada")).status == "waiting"
        [call] = await chat.items("tool_call")
        access = call.raw["access"]
        assert access["effects"] == ["reads", "runs", "sends", "writes"]
        assert (access["destination"], access["brings"]) == ("anywhere", ["private", "untrusted"])


async def test_a_tool_that_declares_something_is_held_to_it_where_a_call_says_nothing(
    home: Path, packages: Path
) -> None:
    declared = GREETER.replace("        touches_nothing = True\n", "").replace(
        "effects = frozenset()", 'effects = frozenset({"sends"})'
    )
    install(packages, "declared", declared)
    enable(home)
    async with open_chat(home, SCRIPT) as chat:
        assert (await chat.say("Greet Ada")).status == "waiting"
        [call] = await chat.items("tool_call")
        assert call.raw["access"]["effects"] == ["sends"]


@pytest.mark.slow
def test_the_command_line_enables_and_disables(home: Path, packages: Path) -> None:
    install(packages, "spoken", GREETER)
    assert "It is off until you enable it" in pilothouse(home, "plugins", "list").err
    done = pilothouse(home, "plugins", "enable", "spoken")
    assert (done.code, "runs with your rights" in done.err) == (0, True)
    assert "on" in pilothouse(home, "plugins", "list").out.split()
    assert pilothouse(home, "plugins", "disable", "spoken").code == 0
    assert "off" in pilothouse(home, "plugins", "list").out.split()
    assert "There is no plugin" in pilothouse(home, "plugins", "enable", "nobody").err
