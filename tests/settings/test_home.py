"""The data folder is made, closed to others, and refused in one sentence when it cannot be used."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pilothouse.settings.home import home_path, open_home
from pilothouse.types.errors import PilothouseError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.case("WEB-15", "SRV-11")
def test_a_new_data_folder_is_closed_to_other_accounts(home: Path) -> None:
    opened = open_home()
    assert opened.path == home
    assert {mode(folder) for folder in (home, opened.secrets, opened.logs, opened.cache)} == {0o700}
    assert opened.notices == ()
    assert opened.secrets == home / "secrets"
    assert opened.models_file == home / "models.json"


@pytest.mark.case("WEB-15")
def test_a_folder_that_others_could_read_is_closed_and_the_person_is_told(home: Path) -> None:
    open_home()
    home.chmod(0o755)
    (home / "secrets").chmod(0o750)
    (home / "models.json").write_text("{}")
    (home / "models.json").chmod(0o644)
    (home / "secrets" / "a.secret").write_text("x")
    (home / "secrets" / "a.secret").chmod(0o664)
    opened = open_home()
    assert mode(home) == mode(home / "secrets") == 0o700
    assert mode(home / "models.json") == mode(home / "secrets" / "a.secret") == 0o600
    assert len(opened.notices) == 4
    assert all("other accounts" in notice for notice in opened.notices)


@pytest.mark.case("WEB-15")
def test_a_file_with_an_open_mode_inside_a_closed_folder_is_closed_without_a_word(home: Path) -> None:
    open_home()
    (home / "pilothouse.db").write_text("")
    (home / "pilothouse.db").chmod(0o644)
    assert open_home().notices == ()
    assert mode(home / "pilothouse.db") == 0o600


@pytest.mark.case("WEB-15")
def test_a_closed_folder_with_the_persons_files_is_left_as_it_is(home: Path) -> None:
    open_home()
    script = home / "mine.sh"
    script.write_text("")
    script.chmod(0o700)
    assert open_home().notices == ()
    assert mode(script) == 0o700


@pytest.mark.case("WEB-15")
@pytest.mark.skipif(os.getuid() != 0, reason="only the administrator can give a folder away")
def test_a_folder_of_another_account_is_refused() -> None:
    code = (
        "import os, sys, platformdirs; from pathlib import Path\n"
        "from pilothouse.settings.home import open_home\n"
        "os.setuid(65534)\n"
        "open_home(Path(sys.argv[1]))"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        command = [sys.executable, "-c", code, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "belongs to another account" in done.stderr


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(PilothouseError) as caught:
        open_home(tmp_path / "home")
    assert caught.value.code == "data_folder"
    assert "is not a folder" in str(caught.value)
    assert "PILOTHOUSE_HOME" in caught.value.fix


def test_a_folder_that_cannot_be_made_is_explained() -> None:
    with pytest.raises(PilothouseError) as caught:
        open_home(Path("/proc/pilothouse"))
    assert caught.value.code == "data_folder"
    assert caught.value.exit_code == 1


def test_without_the_variable_the_platforms_folder_is_used() -> None:
    assert home_path({}).name == "pilothouse"
    assert home_path({"PILOTHOUSE_HOME": "/a/b"}) == Path("/a/b")


def test_with_the_variable_platformdirs_is_not_even_imported() -> None:
    code = (
        "import sys; from pilothouse.settings.home import home_path\n"
        "home_path({'PILOTHOUSE_HOME': '/x'}); assert 'platformdirs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_what_another_process_makes_and_takes_away_meanwhile_is_no_matter(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_home()
    kept, gone = home / "kept.db", home / "gone.db-journal"
    kept.touch(0o644)
    home.chmod(0o755)
    monkeypatch.setattr("pilothouse.settings.home._files", lambda _path: iter((gone, kept)))
    assert [str(kept) in notice for notice in open_home().notices] == [False, True]
    assert mode(kept) == 0o600
