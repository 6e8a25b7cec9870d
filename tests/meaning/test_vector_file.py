"""The file of vectors: what it finds against comparing exactly, whose rows it gives, and what becomes of damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pilothouse.meaning.computing import add, drop, find
from pilothouse.meaning.rows import Added, Dropped, Place, Row, Wanted
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

Floats = NDArray[np.float32]
DIMENSION = 64


def normed(vectors: Floats) -> Floats:
    made: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return made


def at_random(count: int, seed: int = 1) -> Floats:
    return normed(np.random.default_rng(seed).standard_normal((count, DIMENSION), np.float32))


def in_clusters(count: int, seed: int = 2) -> Floats:
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((count // 50, DIMENSION), np.float32)
    near = generator.standard_normal((count, DIMENSION), np.float32) * np.float32(0.3)
    return normed(centres[generator.integers(0, len(centres), count)] + near)


def rows(vectors: Floats, *, owner: str = "ann", scope: str = "", first: int = 1) -> list[Row]:
    return [
        Row(number, owner, "topic" if scope else "everywhere", scope, vector.astype("<f2").tobytes())
        for number, vector in enumerate(vectors, first)
    ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(str(tmp_path / "cache" / "memory.vectors"), "model", DIMENSION)


def wanted(
    place: Place, query: Floats, most: int = 10, owner: str = "ann", scopes: list[tuple[str, str]] | None = None
) -> Wanted:
    return Wanted(place, query.astype("<f2").tobytes(), owner, scopes, most)


def ids(place: Place, query: Floats, most: int = 10, owner: str = "ann") -> list[int]:
    return [number for number, _ in find(wanted(place, query, most, owner)).rows]


@pytest.mark.parametrize("make", [at_random, in_clusters])
def test_it_finds_what_comparing_exactly_finds(place: Place, make: object) -> None:
    assert callable(make)
    vectors: Floats = make(5_000)
    for begin in range(0, len(vectors), 700):
        standing = add(Added(place, rows(vectors[begin : begin + 700], first=begin + 1)))
    assert (standing.last, standing.live) == (5_000, 5_000)
    hits = 0
    for query in vectors[::250]:
        exact = set(np.argsort(-(vectors @ query))[:10] + 1)
        hits += len(exact & set(ids(place, query, 10 + limits.VECTOR_MORE)))
    assert hits >= 0.99 * 200
    # How alike they are is right to a few thousandths.
    found = find(wanted(place, vectors[7])).rows
    assert found[0][0] == 8
    assert [likeness for _, likeness in found] == pytest.approx(sorted(vectors @ vectors[7])[:-11:-1], abs=0.01)


def test_it_gives_only_the_rows_of_an_owner_in_the_scopes(place: Place) -> None:
    vectors = at_random(3_000)
    add(Added(place, rows(vectors[:1_500])))
    add(Added(place, rows(vectors[1_500:2_000], owner="bob", first=1_501)))
    add(Added(place, rows(vectors[2_000:], scope="t1", first=2_001)))
    assert ids(place, vectors[1_600])[0] != 1_601
    assert ids(place, vectors[1_600], owner="bob")[0] == 1_601
    found = find(wanted(place, vectors[5], scopes=[("topic", "t1")])).rows
    assert {number > 2_000 for number, _ in found} == {True}
    both = find(wanted(place, vectors[5], scopes=[("topic", "t1"), ("everywhere", "")])).rows
    assert both[0][0] == 6
    assert not find(wanted(place, vectors[5], owner="carol")).rows
    assert len(ids(place, vectors[5], 4_000)) == 2_500


def test_rows_that_are_there_already_are_not_added_twice(place: Place) -> None:
    vectors = at_random(20)
    add(Added(place, rows(vectors[:10])))
    assert add(Added(place, rows(vectors))).live == 20
    assert add(Added(place, rows(vectors))).live == 20


def test_rows_that_went_are_not_found_and_their_room_is_given_back(place: Place) -> None:
    vectors = at_random(100)
    add(Added(place, rows(vectors)))
    whole = Path(place.path).stat().st_size
    drop(Dropped(place, [5, 5, 1_000]))
    assert 5 not in ids(place, vectors[4], 100)
    assert Path(place.path).stat().st_size == whole
    drop(Dropped(place, list(range(10, 60))))
    assert Path(place.path).stat().st_size < 0.6 * whole
    assert ids(place, vectors[0])[0] == 1
    assert len(ids(place, vectors[0], 100)) == 49
    standing = add(Added(place, rows(vectors[:1], first=101)))
    assert (standing.last, standing.live) == (101, 50)
    assert list(Path(place.path).parent.iterdir()) == [Path(place.path)]


def test_an_empty_file_finds_nothing(place: Place) -> None:
    assert find(wanted(place, at_random(1)[0])).rows == []
    assert add(Added(place, [])).last == 0
    drop(Dropped(place, [1]))


def test_another_model_or_dimension_begins_anew(place: Place) -> None:
    add(Added(place, rows(at_random(5))))
    other = Place(place.path, "another", DIMENSION)
    assert add(Added(other, [])).last == 0
    assert add(Added(place, [])).last == 0


def test_a_row_whose_end_is_missing_does_not_count(place: Place) -> None:
    vectors = at_random(5)
    add(Added(place, rows(vectors)))
    file = Path(place.path)
    file.write_bytes(file.read_bytes()[:-7])
    assert add(Added(place, [])).last == 4
    assert add(Added(place, rows(vectors))).last == 5
    assert ids(place, vectors[4])[0] == 5


@pytest.mark.parametrize(("at", "what"), [(DIMENSION * 2, 60), (70, 20)])
def test_damage_is_noticed_and_the_file_begun_anew(place: Place, at: int, what: int) -> None:
    vectors = at_random(50)
    add(Added(place, rows(vectors)))
    file = Path(place.path)
    data = bytearray(file.read_bytes())
    data[at : at + what] = bytes(what)
    file.write_bytes(bytes(data))
    assert find(wanted(place, vectors[0], 50)).damaged
    assert add(Added(place, [])).last == 0


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = Place(str(tmp_path / "file" / "memory.vectors"), "model", DIMENSION)
    with pytest.raises(PilothouseError, match="The copy of vectors in the cache folder cannot be used"):
        add(Added(place, []))
