"""Searching for tools: what words find, however they are written."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pilothouse.tools.finding import meanings
from pilothouse.tools.finding.ranking import ToolIndex
from pilothouse.tools.finding.words import asked, words
from pilothouse.tools.search_tools import SearchTools
from pilothouse.types import limits
from pilothouse.types.found_tools import specs
from pilothouse.types.meaning import Purpose
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import CallContext
from tests.support.tools import Silent, ToolOf
from tests.support.waiting import PATIENCE
from tests.support.word_groups import WordGroups


class Described(ToolOf):
    """A tool with words of its own."""

    def __init__(self, name: str, description: str, *parameters: str) -> None:
        super().__init__(name, server=name.partition("__")[0].title())
        schema = {"type": "object", "properties": {each: {} for each in parameters}}
        self._described = ToolSpec(name, description, schema)

    @property
    def spec(self) -> ToolSpec:
        return self._described


TOOLS = (
    Described("github__create_issue", "Open a ticket in a repository.", "owner", "title"),
    Described("github__listPullRequests", "List what waits to be merged.", "state"),
    Described("files__read", "Reads one document.", "path", "encoding"),
    Described("mail__send", "Sends a letter. It may have attachments.", "recipient"),
    Described("web__fetch", "Gets a page from the internet.", "url"),
)


def first(query: str) -> str:
    return ToolIndex(TOOLS).find(query)[0].tool.spec.name


@pytest.mark.case("NAM-03")
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("create issue", "github__create_issue"),
        ("creating issues", "github__create_issue"),
        ("CreateIssue", "github__create_issue"),
        ("ticket", "github__create_issue"),
        ("pull requests", "github__listPullRequests"),
        ("merge", "github__listPullRequests"),
        # A parameter, the beginning of a word, and another word for the same.
        ("recipient", "mail__send"),
        ("attach", "mail__send"),
        ("website", "web__fetch"),
        ("read the file, please", "files__read"),
        # Exact names, however they are joined.
        ("files__read", "files__read"),
        ("Files.Read", "files__read"),
    ],
)
def test_a_tool_is_found_by_the_words_of_its_name_its_description_and_its_parameters(query: str, name: str) -> None:
    assert first(query) == name


def test_words_are_compared_without_the_forms_that_english_gives_them() -> None:
    assert words("createIssue create_issues Creating-Issue") == [
        *words("createIssue"),
        *words("create issue"),
        *words("creating issue"),
    ]
    assert words("stopped stopping stops stop") == ["stop"] * 4
    assert words("entries news JavaScript") == ["entry", "news", "javascript", "java", "script"]
    assert asked("what is in the file") == ["file"]
    assert asked("what is it") == ["what", "is", "it"]


def test_what_no_tool_says_finds_nothing_and_no_tools_are_no_error() -> None:
    assert ToolIndex(TOOLS).find("quetzalcoatl") == []
    assert ToolIndex(TOOLS).find("???") == []
    assert ToolIndex(()).find("anything") == []


async def test_a_small_window_gets_as_much_as_it_can_read() -> None:
    tools = tuple(Described(f"office__letter{number}", "Sends a letter. " * 30) for number in range(5))
    found = {}
    for room in (limits.RESULT_CHARS, 2_500):
        context = CallContext("c", "r", "i", None, (), False, tools=tools, room=room)
        output = await SearchTools().execute({"query": "letter"}, context, Silent())
        assert len(output.text) <= room
        found[room] = len(specs(output.text))
    assert found == {limits.RESULT_CHARS: 5, 2_500: 1}


async def test_only_tools_of_servers_are_found_and_words_are_kept_for_a_few_sets() -> None:
    finder = SearchTools()
    for number in range(limits.FINDING_INDEXES + 3):
        tools = (Described(f"office__letter{number}", "Sends a letter."), ToolOf("letter_of_ours"))
        context = CallContext("c", "r", "i", None, (), False, tools=tools)
        output = await finder.execute({"query": "letter"}, context, Silent())
        assert [spec.name for spec in specs(output.text)] == [f"office__letter{number}"]
    assert len(finder._indexes) == limits.FINDING_INDEXES


async def found(finder: SearchTools, query: str, *tools: Described, page: int = 1) -> list[str]:
    context = CallContext("c", "r", "i", None, (), False, tools=tools or TOOLS)
    output = await finder.execute({"query": query, "page": page}, context, Silent())
    return [each["name"] for each in output.data["found"]]


LETTERS = "letter epistle missive correspondence"


@pytest.mark.case("NAM-03")
async def test_a_question_in_other_words_finds_a_tool_by_what_it_means() -> None:
    meaning = WordGroups(LETTERS, "merged union")
    finder = SearchTools(meaning)
    assert await found(SearchTools(), "missive") == []
    assert await found(finder, "missive") == ["mail.send"]
    # Words and meaning count together, and what both find comes first.
    assert (await found(finder, "epistle for a pull request"))[:2] == ["github.listPullRequests", "mail.send"]
    # Who names a tool gets that one.
    assert (await found(finder, "files__read"))[0] == "files.read"
    # Each text is embedded once.
    assert len(meaning.seen) == len(set(meaning.seen)) == len(TOOLS)


async def test_before_all_tools_are_known_a_search_goes_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FINDING_MEANING_TIME", 0.05)
    meaning = WordGroups(LETTERS)
    finder = SearchTools(meaning)
    meaning.open.clear()
    assert await found(finder, "missive attachments") == ["mail.send"]
    assert await found(finder, "missive") == []
    meaning.open.set()
    monkeypatch.setattr(limits, "FINDING_MEANING_TIME", PATIENCE)
    assert await found(finder, "missive") == ["mail.send"]


async def test_a_later_page_goes_on_from_the_first_also_when_meanings_came_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "FINDING_MEANING_TIME", 0.05)
    tools = [
        Described(f"office__paper{number}", f"Sends a {'missive' if number > 4 else 'note'}.") for number in range(8)
    ]
    meaning = WordGroups(LETTERS)
    finder = SearchTools(meaning)
    meaning.open.clear()
    first_page = await found(finder, "paper letter", *tools)
    meaning.open.set()
    monkeypatch.setattr(limits, "FINDING_MEANING_TIME", PATIENCE)
    second_page = await found(finder, "paper letter", *tools, page=2)
    assert sorted(first_page + second_page) == sorted(tool.spec.name.replace("__", ".") for tool in tools)
    # Asked anew, it is ordered by what is known now.
    assert set(await found(finder, "paper letter", *tools)) != set(first_page)


async def test_what_one_search_learned_is_there_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanings, "_BATCH", 3)
    monkeypatch.setattr(limits, "FINDING_LEARN_TIME", 0.0)
    meaning = WordGroups(LETTERS)
    finder = SearchTools(meaning)
    seen = []
    while not await found(finder, "missive"):
        seen.append(len(meaning.seen))
        assert len(seen) < 4
    assert len(meaning.seen) == len(TOOLS)


async def test_a_model_that_makes_no_vectors_leaves_words() -> None:
    class Failing(WordGroups):
        async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
            return ()

    assert await found(SearchTools(Failing(LETTERS)), "missive attachments") == ["mail.send"]


async def test_more_tools_than_are_kept_are_found_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FINDING_MEANINGS", 4)
    meaning = WordGroups(LETTERS)
    finder = SearchTools(meaning)
    assert await found(finder, "missive") == []
    assert meaning.seen == []
    assert await found(finder, "missive", *TOOLS[1:]) == ["mail.send"]
    # The oldest go, so that it never keeps more.
    assert await found(finder, "missive", TOOLS[0], TOOLS[3]) == ["mail.send"]
    assert len(finder._meanings()._vectors) == 4


async def test_a_withdrawn_tool_is_not_found_by_meaning_either() -> None:
    class Gone(Described):
        def withdrawn(self) -> str:
            return "It is gone."

    gone = Gone("post__write", "Writes a letter.")
    assert await found(SearchTools(WordGroups(LETTERS)), "missive", gone, TOOLS[3]) == ["mail.send"]
