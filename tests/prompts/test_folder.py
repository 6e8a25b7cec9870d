"""A folder of prompts that people edit: what is wrong in it is one sentence, and the rest works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pilothouse.prompts.folder import PromptFolder
from pilothouse.prompts.front_matter import parsed, written
from pilothouse.prompts.library import PromptLibrary
from pilothouse.prompts.variables import filled, variables
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.prompts import PromptInput, PromptKind


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


BAD: dict[str, tuple[str | bytes, str]] = {
    "endless.md": ("---\ntitle: No end\n\nText", "has no second such line"),
    "odd.md": ("---\nthis is nothing\n---\nText", "has a line 2 that is neither"),
    "latin.md": (b"caf\xe9", "is not text in UTF-8"),
    "empty.md": ("---\ntitle: Empty\n---\n  \n", "has no text"),
    "huge.md": ("x" * (limits.PROMPT_BYTES + 1), "is larger than 64 KiB"),
    "long-title.md": (f"---\ntitle: {'x' * 121}\n---\nText", "title of more than 120 characters"),
    "many.md": ("".join(f"{{{{v{number}}}}}" for number in range(31)), "more than 30 variables"),
    "a name.md": ("Text", "name it with letters, digits, hyphens and underscores only"),
    "..evil.md": ("Text", ""),
}


@pytest.mark.case("CHT-16")
def test_what_is_wrong_with_a_file_is_said_and_the_others_work(tmp_path: Path) -> None:
    for name, (content, _) in BAD.items():
        write(tmp_path, name, content)
    write(tmp_path, "good.md", "Fine.")
    write(tmp_path, "notes.txt", "Not a prompt.")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    found = PromptFolder(tmp_path, limits.PROMPT_BYTES).contents()
    assert list(found.prompts) == ["good"]
    for name, (_, said) in BAD.items():
        if said:
            [problem] = [each for each in found.problems if name in each]
            assert said in problem
    assert [each for each in found.problems if "folder.md" in each] == ["folder.md is not a file; it is left out."]
    assert [each for each in found.problems if "pipe.md" in each] == ["pipe.md is not a file; it is left out."]


@pytest.mark.case("CHT-16")
def test_a_link_out_of_the_folder_is_not_followed_and_one_within_is(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.md", "A secret of the person.")
    folder = tmp_path / "prompts"
    folder.mkdir()
    write(folder, "real.md", "Inside.")
    (folder / "alias.md").symlink_to("real.md")
    (folder / "out.md").symlink_to(secret)
    (folder / "up.md").symlink_to("../secret.md")
    (folder / "loop.md").symlink_to("loop.md")
    found = PromptFolder(folder, limits.PROMPT_BYTES).contents()
    assert {name: each.text for name, each in found.prompts.items()} == {"alias": "Inside.", "real": "Inside."}
    assert sum("leads out of the folder" in each for each in found.problems) == 2
    assert len(found.problems) == 3


def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    folder = PromptFolder(tmp_path, limits.PROMPT_BYTES)
    path = write(tmp_path, "one.md", "First.")
    first = folder.contents().prompts["one"]
    assert folder.contents().prompts["one"] is first
    path.write_text("Other!")
    assert folder.contents().prompts["one"].text == "Other!"
    path.unlink()
    assert folder.contents().prompts == {}


def test_a_folder_with_too_many_files_gives_the_first_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PROMPTS", 3)
    for number in range(5):
        write(tmp_path, f"p{number}.md", "Text")
    found = PromptFolder(tmp_path, limits.PROMPT_BYTES).contents()
    assert list(found.prompts) == ["p0", "p1", "p2"]
    assert found.problems == ("There are more than 3 files; those after “p2” are left out.",)


@pytest.mark.case("CHT-16")
def test_variables_have_defaults_and_whatever_else_has_braces_stays() -> None:
    text = "{{a}} {{ b = two words }} {{b=other}} {{ 1 }} {{}} {x} {{a b}} {{date}}"
    asked = variables(text)
    assert [(each.name, each.default, each.built_in) for each in asked] == [
        ("a", None, False),
        ("b", "two words", False),
        ("date", None, True),
    ]
    made = filled(text, {"a": "{{b}} $1 \\1"}, {"date": "today"})
    assert made.text == "{{b}} $1 \\1 two words two words {{ 1 }} {{}} {x} {{a b}} today"
    assert made.missing == ()
    assert filled("{{a}} and {{c}}", {"a": ""}, {}).missing == ("a", "c")


def test_a_prompt_that_its_variables_make_huge_is_refused() -> None:
    with pytest.raises(PilothouseError) as refused:
        filled("{{a}}" * 1000, {"a": "x" * 10_000}, {})
    assert refused.value.code == "too_large"


@pytest.mark.parametrize(
    ("title", "description", "text"),
    [
        ("A title", "What it is: for all", "Text"),
        ("", "", "Text\n\n---\n\nmore"),
        ("", "", "---\nnot: front matter\n---\nbut text"),
        ("'quoted'", "x # y", "Ünïcode → text"),
    ],
)
def test_what_is_written_is_read_again(title: str, description: str, text: str) -> None:
    read = parsed(written(title, description, text))
    assert (read.text, read.description) == (text, description)
    assert read.title == title.strip("'")


def test_lines_of_windows_and_a_byte_order_mark_are_understood() -> None:
    read = parsed("\ufeff---\r\ntitle: T\r\n---\r\nOne\r\nTwo\r\n")
    assert (read.title, read.text) == ("T", "One\nTwo")


@pytest.mark.case("CHT-16")
@pytest.mark.parametrize("name", ["../evil", "..", "", "a/b", "a\\b", ".hidden", "a.b", "x" * 61, "a\0b", "con:", "ä"])
async def test_a_name_that_is_none_writes_nothing(tmp_path: Path, name: str) -> None:
    library = PromptLibrary(tmp_path / "home")
    with pytest.raises(PilothouseError) as refused:
        await library.put("prompt", name, PromptInput(text="Text"))
    assert refused.value.message.startswith("A prompt cannot be called")
    with pytest.raises(PilothouseError) as unknown:
        await library.delete("prompt", name)
    assert unknown.value.code == "not_found"
    assert not (tmp_path / "home").exists()


async def test_a_file_that_would_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    library = PromptLibrary(tmp_path)
    cases = {
        "is larger than 8 KiB": PromptInput(text="x" * limits.MINI_PROMPT_BYTES),
        "has no text": PromptInput(text="  "),
        "more than 30 variables": PromptInput(text="".join(f"{{{{v{number}}}}}" for number in range(31))),
        "title of more than": PromptInput(text="x", title="x" * 121),
    }
    for said, body in cases.items():
        with pytest.raises(PilothouseError) as refused:
            await library.put("mini_prompt", "mine", body)
        assert said in refused.value.message
    assert not (tmp_path / "mini-prompts").exists()
    (tmp_path / "mini-prompts").mkdir()
    (tmp_path / "mini-prompts" / "mine.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PilothouseError) as link:
        await library.put("mini_prompt", "mine", PromptInput(text="x"))
    assert "is a link" in link.value.message
    assert not (tmp_path / "elsewhere").exists()


async def test_what_comes_with_the_program_is_all_right() -> None:
    library = PromptLibrary(Path("/nowhere"))
    kinds: tuple[PromptKind, ...] = ("prompt", "mini_prompt")
    for kind in kinds:
        listed = await library.listed(kind)
        assert len(listed.prompts) >= 3
        assert listed.problems == ()
        assert all(each.title and each.description and not each.path for each in listed.prompts)


async def test_a_value_for_a_variable_that_a_prompt_does_not_have_is_one_sentence(tmp_path: Path) -> None:
    library = PromptLibrary(tmp_path)
    with pytest.raises(PilothouseError, match="The prompt “translator” has no variable “langauge”") as refused:
        await library.filled("translator", {"langauge": "French"}, {})
    assert refused.value.fix == "It has: language, tone."


async def test_a_broken_file_that_is_asked_for_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "broken.md").write_bytes(b"\xff\xfe")
    with pytest.raises(PilothouseError, match=r"broken\.md .*; it is left out"):
        await PromptLibrary(tmp_path).details("prompt", "broken")
