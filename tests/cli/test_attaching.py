"""Images, temperature and the longest answer, as the page and the library can say them."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from pathlib import Path

import pytest

from pilothouse.cli.attaching import read_images
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from tests.cli.conftest import Script, assert_told, leave, say
from tests.support.commands import Screen, pilothouse
from tests.support.pictures import a_png

PNG = a_png(100)
JPEG = b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xff\xc0\0\x11\x08\0\x20\0\x40" + bytes(40)


def test_images_are_read_with_their_names_and_recognised_by_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "really a photo.png").write_bytes(JPEG)
    first, second = read_images([str(tmp_path / "a.png"), str(tmp_path / "really a photo.png")])
    assert (first.media_type, first.name, base64.b64decode(first.data)) == ("image/png", "a.png", PNG)
    assert (second.media_type, second.name) == ("image/jpeg", "really a photo.png")


def test_an_image_can_be_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PNG)))
    (image,) = read_images(["-"])
    assert (image.media_type, image.name) == ("image/png", "")


def make(folder: Path) -> None:
    (folder / "words.txt").write_text("no image")
    (folder / "empty.png").write_bytes(b"")
    (folder / "begun.png").write_bytes(PNG[:8])
    (folder / "begun.jpg").write_bytes(JPEG[:12])
    (folder / "large.png").write_bytes(PNG + bytes(limits.IMAGE_BYTES))
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "itself.png").symlink_to(folder / "itself.png")
    for number in range(9):
        (folder / f"{number}.png").write_bytes(PNG)
    for number in range(4):
        (folder / f"big{number}.png").write_bytes(PNG + bytes(limits.IMAGE_BYTES - len(PNG)))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["nowhere.png"], "There is no file"),
        (["folder"], "is a folder, not an image"),
        (["pipe"], "pipe is a pipe or a device, not an image. Pipe the image in: --image -"),
        (["/dev/zero"], "/dev/zero is a pipe or a device"),
        (["itself.png"], "itself.png cannot be read: Too many levels of symbolic links."),
        (["words.txt"], "words.txt is not an image. Models take PNG, JPEG, GIF or WebP."),
        (["empty.png"], "empty.png is not an image."),
        (["begun.png"], "begun.png is not a whole image. Is the file complete?"),
        (["begun.jpg"], "begun.jpg is not a whole image."),
        ([""], "An image was named, but the name is empty. Name its file."),
        (["large.png"], "is larger than 5 MB. Make it smaller."),
        ([f"{number}.png" for number in range(9)], "At most 8 images fit in one message."),
        ([f"big{number}.png" for number in range(4)], "larger than 15 MB together."),
        (["-", "-"], "Only one image can be piped in."),
        (["a\0b.png"], "cannot be read"),
        (["x" * 5000], "cannot be read"),
        (["~nobody-of-that-name/a.png"], "There is no file ~nobody-of-that-name/a.png."),
    ],
)
def test_what_is_no_image_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], words: str
) -> None:
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PilothouseError) as caught:
        read_images(names)
    assert words in str(caught.value)


def test_an_image_of_a_pipe_that_a_shell_opened_is_read() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb") as file:
        file.write(PNG)
        file.close()
        (image,) = read_images([f"/dev/fd/{reading}"])
    assert image.media_type == "image/png"


@pytest.mark.slow
def test_run_sends_images_and_sets_temperature_and_the_longest_answer(
    home: Path, script: Script, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    options = ("--image", str(tmp_path / "a.png"), "--temperature", "0.5", "--max-tokens", "77", "--json")
    done = pilothouse(home, "run", "What is this?", "--model", script("- A pier."), *options)
    assert done.code == 0, done
    events = [json.loads(line) for line in done.lines]
    settings = events[0]["conversation"]["settings"]
    assert (settings["temperature"], settings["maxTokens"]) == (0.5, 77)
    (said,) = [event["item"] for event in events if event.get("item", {}).get("kind") == "user_message"]
    assert [(part["mediaType"], part["name"]) for part in said["data"]["content"]] == [("image/png", "a.png")]


@pytest.mark.slow
def test_a_model_without_eyes_and_bad_values_are_told_in_one_sentence(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    blind = pilothouse(home, "run", "What is this?", "--image", str(tmp_path / "a.png"))
    assert_told(blind, 2, "does not take images.", "pilothouse models edit embedded --images")
    assert_told(pilothouse(home, "run", "hi", "--temperature", "3"), 2, "--temperature", "less than or equal to 2.")
    assert_told(pilothouse(home, "run", "hi", "--max-tokens", "0"), 2, "--max-tokens", "greater than or equal to 1.")
    assert_told(pilothouse(home, "run", "hi", "--image", "nowhere.png"), 2, "There is no file nowhere.png.")
    # Nothing was begun for any of them.
    assert pilothouse(home, "conversations", "list").out == ""


@pytest.mark.slow
def test_a_chat_sends_images_with_the_next_message_only(home: Path, script: Script, tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(PNG)
    with Screen(home, ["chat", "--model", script("- One.\n- Two.")]) as screen:
        screen.until("›")
        for name, words in (
            ("nowhere.png", "There is no file"),
            ("~nobody-of-that-name/a.png", "There is no file ~nobody"),
            ("x" * 300, "File name too long"),
        ):
            screen.type(f"/image {name}\r")
            screen.until(words)
            screen.until("›")
        screen.type(f"/image {tmp_path / 'a b.png'}\r")
        screen.until("With your next message: a b.png.")
        say(screen, "look", "One.")
        say(screen, "/image", "No image goes with your next message.")
        leave(screen, keys="\x04")
    (line,) = pilothouse(home, "conversations", "list").lines[1:]
    shown = pilothouse(home, "conversations", "show", line.split()[0])
    assert shown.out.count("a b.png") == 1
