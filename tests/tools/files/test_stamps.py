"""What a large folder is known by."""

from __future__ import annotations

from pathlib import Path

from pilothouse.tools.files.restoring import at
from pilothouse.tools.files.stamps import stamp
from pilothouse.types.changes import TREE


def test_a_stamp_fits_where_a_hash_does_and_is_another_once_something_changed(tmp_path: Path) -> None:
    (tmp_path / "many" / "inner").mkdir(parents=True)
    place = at(str((tmp_path / "many").resolve()))
    seen = {stamp(place)}
    for change in ("inner/a", "b"):
        (tmp_path / "many" / change).write_text("new")
        seen.add(stamp(place))
    assert len(seen) == 3
    assert {len(each) for each in seen} == {64}
    assert all(each.startswith(TREE) for each in seen)
    assert stamp(place) in seen
