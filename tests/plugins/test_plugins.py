"""Packages that add to the host, and packages that break: real distributions on the search path."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pilothouse.types.ports import ToolRequest
from pilothouse.wiring import open_host
from tests.support.chats import open_chat
from tests.support.commands import pilothouse
from tests.support.packages import enable, install

GREETER = """
    from pilothouse.types.access import Access, Shown
    from pilothouse.types.messages import ToolSpec
    from pilothouse.types.ports import CallTimes, ToolOutput
    from pilothouse.types.stream import Stopped, TextDelta
    from pilothouse.types.todos import Reminder

    class Greet:
        spec = ToolSpec("greet", "Greets someone.", {"type": "object", "properties": {"name": {"type": "string"}}})
        qualified_name = grant_key = "greet"
        server = ""
        effects = frozenset()
        touches_nothing = True
        def limited(self, allowed): return self
        async def access(self, arguments, context): return Access(operation="greet")
        def times_for(self, arguments): return CallTimes(5.0, 5.0)
        def shown(self, arguments): return Shown(action="greet", action_display_name="Greeting", summary="Greeting")
        async def execute(self, arguments, context, feedback):
            return ToolOutput(text=f"Hello {arguments['name']}, your number is 12345-67")

    class Parrot:
        def __init__(self, config): self.config = config
        async def stream(self, request):
            yield TextDelta(f"{self.config.model} says: {request.messages[-1].content[-1].text}")
            yield Stopped("end")

    class Numbers:
        reach = 8
        def mask(self, text):
            return text.replace("12345-67", "[number]")

    def pilothouse_tools(context): return [Greet()]
    def pilothouse_models(context): return {"parrot": lambda config, key: Parrot(config)}
    def pilothouse_maskers(context): return [Numbers()]
"""
SCRIPT = [[{"call": "greet", "arguments": {"name": "Ada"}}], "Done."]


def write_models(home: Path) -> None:
    home.mkdir(parents=True, mode=0o700, exist_ok=True)
    (home / "models.json").write_text(
        '{"defaultModelId": "p", "models": {"p": {"name": "P", "provider": "plugin", "model": "parrot/large"}}}'
    )


async def tool_names(home: Path) -> list[str]:
    async with open_host(home) as host:
        found = await host.executor._parts.toolbox.tools(ToolRequest("c", context_window=100_000))
        return [tool.spec.name for tool in found.tools]


async def test_a_tool_of_a_package_is_called_like_any_other_and_its_result_is_masked(
    home: Path, packages: Path
) -> None:
    install(packages, "greeter_a", GREETER)
    enable(home)
    async with open_chat(home, SCRIPT) as chat:
        run = await chat.say("Greet Ada")
        assert run.status == "completed"
        call = next(item for item in await chat.items() if item.kind == "tool_call")
        assert (call.status, call.text) == ("completed", "Hello Ada, your number is [number]")


async def test_a_model_of_a_package_answers(home: Path, packages: Path) -> None:
    install(packages, "greeter_b", GREETER)
    enable(home)
    await asyncio.to_thread(write_models, home)
    async with open_chat(home, settings={"model_id": "p"}) as chat:
        await chat.say("Ahoy")
        assert [item.text for item in await chat.items() if item.kind == "response"] == ["parrot/large says: Ahoy"]


@pytest.mark.case("F-56")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ImportError('no such library')", "ImportError: no such library"),
        ("def broken(:", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("x = 1", "It has none of the hooks"),
        ("def pilothouse_tools(context): raise RuntimeError('out of luck')", "RuntimeError: out of luck"),
        ("def pilothouse_tools(context): return [object()]", "AttributeError"),
        ("def pilothouse_tools(context): return 7", "TypeError"),
    ],
)
async def test_a_package_that_breaks_is_named_and_switched_off_and_the_host_works(
    home: Path, packages: Path, source: str, said: str
) -> None:
    install(packages, f"broken_{abs(hash(source))}", source)
    install(packages, f"fine_{abs(hash(source))}", GREETER)
    enable(home)
    async with open_host(home) as host:
        found = await host.executor._parts.toolbox.tools(ToolRequest("c", context_window=100_000))
        assert "greet" in [tool.spec.name for tool in found.tools], "the others go on"
        views = {view.name.split("_")[0]: view for view in (await host.api.settings.get("local")).plugins}
        assert said in views["broken"].problem
        assert (views["fine"].problem, views["fine"].hooks) == ("", ("tools", "models", "maskers"))
        assert (views["fine"].version, views["fine"].package[:5]) == ("1.2.3", "fine_")
        notices = [notice.message for notice in host.api._feed._notices.values()]
        assert any("broken_" in notice and said in notice for notice in notices)


@pytest.mark.case("F-56", "TOOL-04")
async def test_a_package_cannot_take_the_place_of_a_built_in_tool(home: Path, packages: Path) -> None:
    install(packages, "impostor", GREETER.replace('"greet"', '"file_operations"'))
    enable(home)
    assert "file_operations" not in await tool_names(home)


@pytest.mark.case("F-56")
async def test_a_tool_that_raises_fails_its_call_with_the_packages_name(home: Path, packages: Path) -> None:
    install(packages, "raiser", GREETER.replace("return ToolOutput(text=", "raise KeyError("))
    enable(home)
    async with open_chat(home, SCRIPT) as chat:
        assert (await chat.say("Greet Ada")).status == "completed"
        call = next(item for item in await chat.items() if item.kind == "tool_call")
        assert (call.status, call.text) == ("failed", "The plugin “raiser” failed: KeyError.")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("'Be kind.'", ["Be kind."]),
        ("['Be kind.', 'Be brief.']", ["Be kind.", "Be brief."]),
        ("(Reminder('kindness', 'Be kind.'),)", ["Be kind."]),
        ("None", []),
        ("[7]", []),
    ],
)
async def test_a_reminder_may_be_plain_text_and_one_that_is_none_ends_no_run(
    home: Path, packages: Path, given: str, told: list[str]
) -> None:
    source = f"""
        from pilothouse.types.todos import Reminder
        class Kind:
            async def current(self, conversation_id): return {given}
        def pilothouse_reminders(context): return [Kind()]
    """
    install(packages, f"kind_{abs(hash(given))}", source)
    enable(home)
    async with open_chat(home, ["Yes."]) as chat:
        assert (await chat.say("Hi")).status == "completed"
        reminders = await chat.texts("reminder")
        assert [words for words in told if not any(words in text for text in reminders)] == []
        assert len(reminders) == len(told)
        (view,) = (await chat.api.settings.get("local")).plugins
        assert ("a reminder is text or a Reminder, not int" in view.problem) == (given == "[7]")


@pytest.mark.case("F-56")
async def test_a_masker_that_breaks_withholds_results_instead_of_letting_them_pass(home: Path, packages: Path) -> None:
    install(packages, "leaky_masker", GREETER.replace('return text.replace("12345-67", "[number]")', "return text[99]"))
    enable(home)
    async with open_chat(home, SCRIPT) as chat:
        await chat.say("Greet Ada")
        call = next(item for item in await chat.items() if item.kind == "tool_call")
        assert call.status == "failed"
        assert "could not be checked for secrets" in call.text
        assert "“leaky_masker”" in call.text
        assert "12345" not in str(await chat.items())


@pytest.mark.case("F-56")
@pytest.mark.slow
def test_the_command_line_names_what_is_broken(home: Path, packages: Path) -> None:
    install(packages, "sorry", "raise ImportError('no such library')")
    enable(home)
    done = pilothouse(home, "plugins", "list")
    assert done.code == 1
    assert "sorry is switched off: ImportError: no such library" in done.err
    assert "Traceback" not in done.err
