"""`config.json` keeps profiles and settings, and what a person adds by hand."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pilothouse import __version__
from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import open_home
from pilothouse.settings.watch import watch
from pilothouse.types.api import ConfigPatch, Profile
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.timeouts import ToolTimeouts, ToolTimeoutsPatch


@pytest.fixture
def service(home: Path) -> ConfigService:
    return ConfigService(open_home().path, "sqlite")


def profile(name: str, **settings: str) -> Profile:
    return Profile(id=name.lower(), name=name, settings=ConversationSettings(**settings))  # type: ignore[arg-type]


@pytest.mark.case("SRV-11")
def test_the_first_start_writes_the_whole_layout(home: Path, service: ConfigService) -> None:
    written = json.loads((home / "config.json").read_text())
    assert written["version"] == "1.0"
    assert written["profiles"] == []
    assert written["mcps"] == []
    assert written["active_profile"] is None
    view = service.view()
    assert (view.version, view.data_folder, view.database) == (__version__, str(home), "sqlite")
    assert view.resume_after_restart == "auto"
    assert view.enter_sends


@pytest.mark.case("MOD-26")
async def test_profiles_are_added_edited_activated_and_removed(home: Path, service: ConfigService) -> None:
    work, play = profile("Work", model_id="claude"), profile("Play")
    view = await service.patch(ConfigPatch(profiles=(work, play), active_profile="work"))
    assert view.profiles == (work, play)
    assert view.active_profile == "work"
    assert service.config.active_settings().model_id == "claude"

    edited = Profile(id="work", name="Work again", settings=ConversationSettings(system_prompt="Be brief."))
    assert (await service.patch(ConfigPatch(profiles=(edited, play)))).active_profile == "work"
    assert service.config.active_settings().system_prompt == "Be brief."

    view = await service.patch(ConfigPatch(profiles=(play,)))
    assert view.profiles == (play,)
    assert view.active_profile is None
    assert ConfigService(home, "sqlite").view() == view


@pytest.mark.case("MOD-26")
@pytest.mark.parametrize(
    ("patch", "words"),
    [
        (ConfigPatch(active_profile="nobody"), "“nobody” is not in the list"),
        (ConfigPatch(profiles=(profile("A"), profile("A"))), "Two profiles have the id “a”"),
        (ConfigPatch(profiles=(Profile(id="x", name=" "),)), "needs an id and a name"),
        (ConfigPatch(profiles=(Profile(id="x", name="n" * 81),)), "at most 80 characters"),
    ],
)
async def test_a_patch_that_does_not_fit_is_refused_in_one_sentence(
    service: ConfigService, patch: ConfigPatch, words: str
) -> None:
    before = service.view()
    with pytest.raises(PilothouseError, match=words) as caught:
        await service.patch(patch)
    assert caught.value.http_status == 400
    assert service.view() == before


async def test_what_a_person_wrote_by_hand_outlives_our_changes(home: Path, service: ConfigService) -> None:
    raw = json.loads((home / "config.json").read_text())
    raw |= {
        "mcps": [{"id": "1", "name": "GitHub"}],
        "note": "mine",
        "profiles": [{"id": "a", "name": "A", "icon": "🚢"}],
    }
    (home / "config.json").write_text(json.dumps(raw))
    await service.patch(ConfigPatch(profiles=(Profile(id="a", name="B"),), resume_after_restart="ask"))
    written = json.loads((home / "config.json").read_text())
    assert written["mcps"] == [{"id": "1", "name": "GitHub"}]
    assert written["note"] == "mine"
    assert written["profiles"][0]["icon"] == "🚢"
    assert (written["profiles"][0]["name"], written["resume_after_restart"]) == ("B", "ask")


@pytest.mark.case("F-55")
async def test_a_broken_config_is_reported_with_its_line_and_the_app_goes_on(
    home: Path, service: ConfigService
) -> None:
    await service.patch(ConfigPatch(resume_after_restart="ask"))
    (home / "config.json").write_text('{\n "version": "1.0",\n "resume_after_restart": "perhaps"\n}')
    view = service.view()
    assert view.resume_after_restart == "ask"
    assert view.problem is not None
    assert view.problem.line == 3
    assert "resume_after_restart" in view.problem.message
    assert ConfigService(home, "sqlite").view().resume_after_restart == "ask"


@pytest.mark.parametrize("seconds", ["-1", "3601", '"soon"'])
async def test_how_long_answers_may_go_on_at_a_stop_has_bounds(
    home: Path, service: ConfigService, seconds: str
) -> None:
    assert service.config.drain_seconds == 0
    (home / "config.json").write_text(f'{{"version": "1.0", "drain_seconds": {seconds}}}')
    assert service.view().problem is not None
    assert service.config.drain_seconds == 0


@pytest.mark.parametrize("characters", ["0", "999", "256000001", '"all"'])
async def test_how_long_an_answer_may_get_has_bounds(home: Path, service: ConfigService, characters: str) -> None:
    usual = service.config.longest_answer
    (home / "config.json").write_text(f'{{"version": "1.0", "longest_answer": {characters}}}')
    assert service.view().problem is not None
    assert service.config.longest_answer == usual


async def test_a_file_with_a_setting_of_an_earlier_version_is_read_and_kept(home: Path, service: ConfigService) -> None:
    raw = json.loads((home / "config.json").read_text())
    assert "global_hotkey" not in raw
    (home / "config.json").write_text(json.dumps(raw | {"global_hotkey": "Cmd+Shift+Space"}))
    assert service.view().problem is None
    await service.patch(ConfigPatch(resume_after_restart="ask"))
    assert json.loads((home / "config.json").read_text())["global_hotkey"] == "Cmd+Shift+Space"


@pytest.mark.case("F-55")
async def test_an_edit_is_noticed_by_the_watcher(home: Path, service: ConfigService) -> None:
    changed: asyncio.Queue[str] = asyncio.Queue()
    watcher = asyncio.create_task(watch({"config": service.file}, changed.put_nowait, interval=0.01))
    try:
        await asyncio.sleep(0)
        (home / "config.json").write_text('{"version": "1.0", "resume_after_restart": "ask"}')
        # Someone else reads it first; the watcher still tells.
        assert service.view().resume_after_restart == "ask"
        assert await asyncio.wait_for(changed.get(), 5) == "config"
    finally:
        watcher.cancel()


def test_a_file_of_a_later_version_is_left_alone(home: Path, service: ConfigService) -> None:
    (home / "config.json").write_text('{"version": "2.0"}')
    problem = service.view().problem
    assert problem is not None
    assert "Version 2.0" in problem.message


@pytest.mark.case("TMO-01")
def test_times_of_tools_are_read_and_a_wrong_one_is_told(home: Path, service: ConfigService) -> None:
    file = home / "config.json"
    raw = json.loads(file.read_text())
    file.write_text(json.dumps(raw | {"tool_timeouts": {"align_with_model": False, "tools": {"mine.dig": 90}}}))
    service.file.refresh()
    assert (service.config.tool_timeouts.align_with_model, service.config.tool_timeouts.tools) == (
        False,
        {"mine.dig": 90.0},
    )
    file.write_text(json.dumps(raw | {"tool_timeouts": {"default": 0}}))
    service.file.refresh()
    problem = service.view().problem
    assert problem is not None
    assert "A timeout is a number of seconds above 0." in problem.message
    assert service.config.tool_timeouts.tools == {"mine.dig": 90.0}


@pytest.mark.case("TMO-01", "CON-31")
async def test_times_and_the_room_for_servers_are_changed_one_by_one(service: ConfigService) -> None:
    await service.patch(ConfigPatch(tool_timeouts=ToolTimeoutsPatch(tools={"think": 7.0, "todo_operations": 9.0})))
    await service.patch(ConfigPatch(tool_timeouts=ToolTimeoutsPatch(default=90.0)))
    await service.patch(ConfigPatch(tool_timeouts=ToolTimeoutsPatch(align_with_model=False, tools={"think": None})))
    view = await service.patch(ConfigPatch(local_servers=3))
    assert view.tool_timeouts == ToolTimeouts(align_with_model=False, default=90.0, tools={"todo_operations": 9.0})
    assert (view.local_servers, service.local_servers()) == (3, 3)
    view = await service.patch(ConfigPatch(local_servers=None, tool_timeouts=ToolTimeoutsPatch(default=None)))
    assert view.tool_timeouts.default is None
    assert service.local_servers() == view.usual_local_servers >= 4
    for wrong in (ConfigPatch(local_servers=0), ConfigPatch(tool_timeouts=ToolTimeoutsPatch(default=-1.0))):
        with pytest.raises(PilothouseError) as refused:
            await service.patch(wrong)
        assert refused.value.code == "bad_request"
