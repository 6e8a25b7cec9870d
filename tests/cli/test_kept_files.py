"""`pilothouse conversations files`: what is listed, and where it is saved."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from pilothouse import Host
from pilothouse.cli.kept_files import KeptFile
from pilothouse.types.api import ImageInput
from pilothouse.types.item_data import ResultPart
from tests.cli.conftest import Script, assert_told
from tests.support.commands import Screen, pilothouse
from tests.support.pictures import a_png

PNG = a_png(3_000)


@pytest.mark.slow
async def test_what_was_attached_is_listed_and_saved(home: Path, script: Script, tmp_path: Path) -> None:
    async with Host(home) as host:
        chat = await host.start(model=script("- I see."))
        image = ImageInput(media_type="image/png", data=base64.b64encode(PNG).decode(), name="../a/../b c.png")
        await (await chat.send("Look", images=[image])).text()
    listed = pilothouse(home, "conversations", "files", chat.id)
    assert "you" in listed.out
    assert "image/png, 64 × 48, 3.0 KB" in listed.out
    assert "conversations files" in listed.err
    (told,) = json.loads(pilothouse(home, "conversations", "files", chat.id, "--json").out)
    assert (told["number"], told["by"], told["part"]["bytes"]) == (1, "you", len(PNG))
    folder = tmp_path / "saved" / "here"
    saved = pilothouse(home, "conversations", "files", chat.id, str(folder))
    assert saved.lines == [str(folder / "01-b-c.png")]
    assert (folder / "01-b-c.png").read_bytes() == PNG
    again = pilothouse(home, "conversations", "files", chat.id, str(folder))
    assert_told(again, 1, "01-b-c.png")
    assert pilothouse(home, "conversations", "files", chat.id, str(folder), "--replace").code == 0
    assert_told(pilothouse(home, "conversations", "files", chat.id, "--only", "2"), 2, "There is no file 2")
    shown = pilothouse(home, "conversations", "show", chat.id)
    assert "[../a/../b c.png, image/png, 64 × 48, 3.0 KB]" in shown.lines
    words = pilothouse(home, "conversations", "export", chat.id, "--format", "markdown").out
    assert "*[image/png, 3,000 bytes, ../a/../b c.png]*" in words


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("../../etc/passwd", "07-passwd"),
        ("..", "07.png"),
        ("", "07.png"),
        (".bashrc", "07-bashrc"),
        ("a\x1b[2Jb\n.png", "07-a-2Jb-.png"),
        ("x" * 300 + ".png", "07-" + "x" * 76 + ".png"),
    ],
)
def test_a_strangers_name_leads_nowhere_else(name: str, saved: str) -> None:
    part = ResultPart(index=0, kind="image", media_type="image/png", name=name, bytes=1)
    assert KeptFile(number=7, item_id="i", by="model", part=part).file_name == saved


@pytest.mark.slow
def test_a_picture_that_the_model_made_is_told_of_and_saved(home: Path, script: Script, tmp_path: Path) -> None:
    (tmp_path / "drawn.png").write_bytes(PNG)
    model = script("- [{thinking: Hm.}, 'Here:', {picture: drawn.png}, ' So.']\n- {picture: drawn.png}")
    line = "[picture-1.png, image/png, 64 × 48, 3.0 KB]"
    with Screen(home, ["run", "Draw", "--model", model]) as screen:
        assert screen.ended() == 0
        assert screen.raw.index("Here:") < screen.raw.index(line) < screen.raw.index("Save:")
    # Also where nobody watches: the answer itself has only its words.
    done = pilothouse(home, "run", "Draw", "--model", model)
    assert (done.code, done.out) == (0, "Here: So.\n")
    assert line in done.err
    (one, _) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    assert line in pilothouse(home, "conversations", "show", one["id"]).lines
    pilothouse(home, "conversations", "files", one["id"], str(tmp_path / "out"))
    assert (tmp_path / "out" / "01-picture-1.png").read_bytes() == PNG
