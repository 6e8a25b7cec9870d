"""Passages that are found by what they mean: their vectors are made in the background, and only what changed anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pilothouse.tools.search import index_file
from pilothouse.tools.search.index_file import IndexFile
from pilothouse.tools.search.queries import alike
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.meaning import Purpose
from tests.support.search_tool import open_search_tool, write_files
from tests.support.waiting import eventually
from tests.support.word_groups import WordGroups

SHIPS = "ship vessel boat"
PAY = "salary wages pay earnings"
FILES = {
    "docs/harbour.md": "# Quay\n\nEvery vessel is moored before nightfall.\n",
    "docs/office.md": "# Office\n\nWages are counted on Fridays.\n",
    "notes.txt": "Nothing of interest.\n",
}


@pytest.fixture
def slow_model(monkeypatch: pytest.MonkeyPatch) -> WordGroups:
    """A model that is asked for one passage at a time, and answers only once it is opened."""
    monkeypatch.setattr(limits, "MEANING_BATCH", 1)
    made = WordGroups(SHIPS)
    made.open.clear()
    return made


@pytest.mark.case("FIL-07")
async def test_a_passage_is_found_that_has_no_word_of_the_question(home: Path, work: Path) -> None:
    write_files(work, FILES)
    async with open_search_tool(home, work, meaning=WordGroups(SHIPS, PAY)) as search:
        assert await search.hits("semantic_search", query="boat") == ["docs/harbour.md:1"]
        assert await search.hits("semantic_search", query="salary") == ["docs/office.md:1"]
        text = (await search.does("semantic_search", query="earnings")).text
        assert text.startswith("1 passage in 1 file for `earnings`:")
        assert "Wages are counted on Fridays." in text
        assert "meaning" not in text
        assert (await search.does("semantic_search", query="quetzalcoatl")).text.startswith("No passage for")


async def test_words_and_meaning_count_together(home: Path, work: Path) -> None:
    write_files(work, {"a.md": "The ledger.\n", "b.md": "The ledger of wages.\n", "c.md": "Wages.\n"})
    async with open_search_tool(home, work, meaning=WordGroups(PAY)) as search:
        # What has the word and the meaning comes before what has one of them.
        hits = await search.hits("semantic_search", query="ledger salary")
        assert hits[0] == "b.md:1"
        assert sorted(hits) == ["a.md:1", "b.md:1", "c.md:1"]


@pytest.mark.case("FIL-07")
async def test_without_a_model_words_are_searched_and_that_is_said(home: Path, work: Path) -> None:
    write_files(work, FILES)
    async with open_search_tool(home, work) as search:
        found = await search.does("semantic_search", query="vessel")
        assert "Searches words: no embedding model is there." in found.text
        assert await search.hits("semantic_search", query="vessel") == ["docs/harbour.md:1"]
        assert await search.hits("semantic_search", query="boat") == []


@pytest.mark.case("FIL-07")
async def test_a_search_says_how_many_meanings_are_known_so_far(
    home: Path, work: Path, slow_model: WordGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_WAIT", 0.05)
    write_files(work, FILES)
    async with open_search_tool(home, work, meaning=slow_model) as search:
        early = await search.does("semantic_search", query="quay boat")
        assert "Found by words; the meanings of 0 of 3 passages are known so far." in early.text
        assert "docs/harbour.md" in early.text
        slow_model.open.set()

        # It goes on by itself, although nobody asks again.
        await eventually(lambda: _seen(slow_model, 3), "all passages have a vector")
        monkeypatch.setattr(limits, "MEANING_WAIT", 10.0)
        assert "known so far" not in (await search.does("semantic_search", query="boat")).text


@pytest.mark.case("FIL-07")
async def test_only_the_changed_passages_of_a_changed_file_get_a_new_vector(home: Path, work: Path) -> None:
    meaning = WordGroups(SHIPS)
    body = "\n".join(f"line {number} of the first part, which stays as it is" for number in range(20))
    long = f"# First\n\n{body}\n# Second\n\nA vessel.\n"
    write_files(work, FILES | {"long.md": long})
    async with open_search_tool(home, work, meaning=meaning) as search:
        await search.does("semantic_search", query="boat")
        assert len(meaning.seen) == 5
        # The newest are first, and prose comes before what is neither prose nor code.
        write_files(work, {"long.md": long.replace("A vessel", "Two vessels and a ship")})
        assert "long.md:23" in await search.hits("semantic_search", query="boat")
        assert [text.split("\n")[-1] for text in meaning.seen[5:]] == ["Two vessels and a ship."]
    # What was found out is kept for the next program that opens the folder.
    async with open_search_tool(home, work, meaning=meaning) as again:
        assert "long.md:23" in await again.hits("semantic_search", query="boat")
        assert len(meaning.seen) == 6


async def test_a_search_does_not_wait_for_a_folder_that_takes_long(
    home: Path, work: Path, slow_model: WordGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_WAIT", 3_600.0)
    monkeypatch.setattr(limits, "MEANING_WAITED_FOR", 1)
    write_files(work, FILES)
    async with open_search_tool(home, work, meaning=slow_model) as search:
        # One is with the model, and two more are too many to wait for.
        assert "0 of 3 passages are known so far" in (await search.does("semantic_search", query="boat")).text
        slow_model.open.set()
        # They are found out all the same, and the last of them is waited for.
        await eventually(lambda: _seen(slow_model, 2), "two passages have a vector")
        assert await search.hits("semantic_search", query="boat") == ["docs/harbour.md:1"]


async def _seen(meaning: WordGroups, count: int) -> bool:
    return len(meaning.seen) >= count


async def test_another_model_makes_all_vectors_anew_and_those_of_the_first_are_compared_with_nothing(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(work, FILES)
    async with open_search_tool(home, work, meaning=WordGroups(SHIPS, model="first")) as search:
        assert await search.hits("semantic_search", query="boat") == ["docs/harbour.md:1"]
    with index_file.reading(next((home / "cache" / "index").glob("*.sqlite"))) as connection:
        question = WordGroups(SHIPS).vector("boat")
        assert [alike(connection, model, question).known for model in ("first", "second")] == [3, 0]
    second = WordGroups(PAY, model="second")
    second.open.clear()
    monkeypatch.setattr(limits, "MEANING_WAIT", 0.05)
    async with open_search_tool(home, work, meaning=second) as search:
        assert await search.hits("semantic_search", query="boat") == []
        second.open.set()
        monkeypatch.setattr(limits, "MEANING_WAIT", 10.0)
        assert await search.hits("semantic_search", query="salary") == ["docs/office.md:1"]
        assert len(second.seen) == 3


async def test_vectors_outlive_an_index_that_is_made_anew(home: Path, work: Path, tmp_path: Path) -> None:
    write_files(work, FILES)
    async with open_search_tool(home, work, meaning=WordGroups(SHIPS)) as search:
        await search.does("semantic_search", query="boat")
        file = next((home / "cache" / "index").glob("*.sqlite"))
    index = IndexFile(file)
    index.empty()
    assert index.model == "groups"
    assert index.unknown() == []
    index.close()
    again = WordGroups(SHIPS)
    async with open_search_tool(home, work, meaning=again) as search:
        assert await search.hits("semantic_search", query="boat") == ["docs/harbour.md:1"]
        assert again.seen == []


async def test_no_more_passages_get_a_vector_than_the_bound_and_the_likeliest_come_first(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_PASSAGES", 2)
    monkeypatch.setattr(index_file, "_MEANINGS_KEPT", 3)
    meaning = WordGroups(SHIPS)
    write_files(
        work, {"data.json": '{"vessel": 1}\n', "code.py": "ship = 1\n", "prose.md": "A boat.\n", "x.cfg": "boat\n"}
    )
    async with open_search_tool(home, work, meaning=meaning) as search:
        text = (await search.does("semantic_search", query="vessel")).text
        assert "The meanings of 2 of 4 passages are known; the others are found by words." in text
        assert {text.split("\n")[0] for text in meaning.seen} == {"code.py", "prose.md"}
        for number in range(4):
            write_files(work, {"prose.md": f"A boat, and {number} more.\n"})
            await search.does("semantic_search", query="vessel")
        file = next((home / "cache" / "index").glob("*.sqlite"))
        with index_file.reading(file) as connection:
            assert connection.execute("SELECT count(*) FROM meanings").fetchone()[0] <= 3


@pytest.mark.case("FIL-07")
async def test_what_is_protected_holds_a_secret_or_is_denied_goes_to_no_model(home: Path, work: Path) -> None:
    secrets = {"sk-canary-0123456789abcdef"}
    write_files(
        work,
        FILES
        | {
            "leak.txt": "vessel sk-canary-0123456789abcdef\n",
            "later.txt": "vessel with a password that nobody knows yet: hunter2hunter2\n",
            "denied/plan.md": "vessel, but a rule is about this folder\n",
            ".ssh/id_rsa": "vessel\n",
            ".env": "vessel\n",
        },
    )

    def withheld(search: Access, folder: str | None) -> Callable[[str], bool]:
        assert (search.operation, folder) == ("file_operations.semantic_search", str(work))
        return lambda path: "/denied/" in path

    def holds_secret(text: str) -> bool:
        return any(secret in text for secret in secrets)

    meaning = WordGroups(SHIPS)
    async with open_search_tool(home, work, holds_secret=holds_secret, meaning=meaning, withheld=withheld) as search:
        await search.does("search_index", query="vessel")
        secrets.add("hunter2hunter2")
        await search.does("semantic_search", query="boat")
        assert {text.split("\n")[0] for text in meaning.seen} == set(FILES)


async def test_a_model_that_fails_leaves_words_and_is_asked_again_with_the_next_question(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(WordGroups):
        fails = True

        async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
            if self.fails and purpose == "passage":
                raise RuntimeError("no")
            return await super().embed(texts, purpose)

    monkeypatch.setattr(limits, "MEANING_BATCH", 1)
    meaning = Failing(SHIPS)
    write_files(work, FILES)
    async with open_search_tool(home, work, meaning=meaning) as search:
        said = (await search.does("semantic_search", query="quay")).text
        assert "the meanings of 0 of 3 passages are known so far" in said
        assert "docs/harbour.md" in said
        meaning.fails = False
        # What failed is not tried twice, so that one text that no model takes does not hold up the others.
        said = (await search.does("semantic_search", query="quay")).text
        assert "the meanings of 2 of 3 passages are known so far" in said


async def test_a_question_that_no_model_understands_in_time_is_searched_by_words(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(WordGroups):
        async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
            await asyncio.Event().wait()
            return []

    monkeypatch.setattr(limits, "MEANING_QUESTION_TIME", 0.05)
    write_files(work, FILES)
    async with open_search_tool(home, work, meaning=Slow(SHIPS)) as search:
        said = (await search.does("semantic_search", query="vessel")).text
        assert "docs/harbour.md" in said
        assert "Found by words: the embedding model did not say what the question means." in said


async def test_an_index_that_is_closed_while_a_model_works_waits_for_nothing(home: Path, work: Path) -> None:
    write_files(work, FILES)
    meaning = WordGroups(SHIPS)
    async with open_search_tool(home, work, meaning=meaning) as search:
        meaning.open.clear()
        asking = asyncio.ensure_future(search.does("semantic_search", query="vessel"))

        async def at_work() -> bool:
            return len(search.indexes._embedding) == 1

        await eventually(at_work, "a model is at work")
    assert meaning.seen == []
    asking.cancel()
    await asyncio.wait([asking])
