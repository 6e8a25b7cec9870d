"""`config.json` keeps profiles and settings, and what a person adds by hand."""

from __future__ import annotations

import asyncio
import json
from functools import reduce
from operator import getitem
from pathlib import Path

import msgspec
import pytest

from pilothouse import __version__
from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import open_home
from pilothouse.settings.json_file import watch
from pilothouse.types.api import ConfigPatch, ConfigView
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.settings import Profile, Settings
from pilothouse.types.timeouts import ToolTimeouts


@pytest.fixture
def service(home: Path) -> ConfigService:
    return ConfigService(open_home().path, "sqlite")


def said(changes: JsonObject) -> ConfigPatch:
    """Return changes as the API takes them."""
    return msgspec.convert(changes, ConfigPatch)


def profile(name: str, **settings: str | float) -> Profile:
    return Profile(id=name.lower(), name=name, settings=ConversationSettings(**settings))  # type: ignore[arg-type]


@pytest.mark.case("SRV-11", "CHT-09")
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
        (ConfigPatch(profiles=(profile("A", max_tokens=99_999_999_999_999),)), "between 1 and 1,000,000,000"),
        (ConfigPatch(profiles=(profile("A", temperature=3),)), "The temperature must be between 0 and 2."),
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
    await service.patch(said({"toolTimeouts": {"tools": {"think": 7.0, "todo_operations": 9.0}}}))
    await service.patch(said({"toolTimeouts": {"default": 90.0}}))
    await service.patch(said({"toolTimeouts": {"alignWithModel": False, "tools": {"think": None}}}))
    view = await service.patch(said({"localServers": 3}))
    assert view.tool_timeouts == ToolTimeouts(align_with_model=False, default=90.0, tools={"todo_operations": 9.0})
    assert (view.local_servers, service.local_servers()) == (3, 3)
    view = await service.patch(said({"localServers": None, "toolTimeouts": {"default": None}}))
    assert view.tool_timeouts.default is None
    assert service.local_servers() == view.usual_local_servers >= 4
    for wrong in ({"localServers": 0}, {"toolTimeouts": {"default": -1.0}}):
        with pytest.raises(PilothouseError) as refused:
            await service.patch(said(wrong))
        assert refused.value.code == "bad_request"


async def test_null_gives_a_setting_its_default_again(home: Path, service: ConfigService) -> None:
    usual = service.view()
    await service.patch(
        said({"runsAtOnce": 3, "enterSends": False, "retention": {"days": 9}, "terminal": {"timeout": 5}})
    )
    assert (service.config.runs_at_once, service.config.retention.days) == (3, 9)
    nothing = {"runsAtOnce": None, "enterSends": None, "retention": None, "terminal": {"timeout": None}}
    assert await service.patch(said(nothing)) == usual
    assert "runs_at_once" not in json.loads((home / "config.json").read_text())


async def test_every_setting_that_is_kept_is_shown_and_can_be_changed(service: ConfigService) -> None:
    kept = {info.encode_name for info in msgspec.structs.fields(Settings)}
    assert kept <= {info.encode_name for info in msgspec.structs.fields(ConfigView)}
    assert kept <= {info.encode_name for info in msgspec.structs.fields(ConfigPatch)}
    view = msgspec.to_builtins(service.view())
    for place, about in view["about"].items():
        value = reduce(getitem, place.split("."), view)
        assert about["label"], place
        assert about["part"], place
        # What has an end below has one above.
        assert (about["least"] is None) == (about["most"] is None), place
        # What it is now fits its own bounds and choices.
        assert about["least"] is None or value is None or value >= about["least"], place
        assert not about["choices"] or value in about["choices"], place
        same = reduce(lambda inner, name: {name: inner}, reversed(place.split(".")), value)
        assert msgspec.to_builtins(await service.patch(said(same))) == view


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"runsAtOnce": 0}, "How many answers are got at once is a number from 1 to 1,000."),
        ({"mostAddedIterations": -1}, "How many rounds may be added is a number from 0 to 10,000."),
        ({"mostAddedIterations": 10**20}, "How many rounds may be added is a number from 0 to 10,000."),
        ({"terminal": {"timeout": 86_401}}, "A command's time is from 1 second to 24 hours."),
        ({"terminal": {"shell": "csh"}}, "The shell is one of: bash, zsh, fish, sh."),
    ],
)
async def test_what_is_beyond_the_bounds_of_a_setting_is_refused_in_its_words(
    service: ConfigService, changes: JsonObject, words: str
) -> None:
    with pytest.raises(PilothouseError) as refused:
        await service.patch(said(changes))
    assert refused.value.message == words
