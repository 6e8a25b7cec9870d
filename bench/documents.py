"""Import of a PDF of 500 pages: read in its process, split, kept and made findable; against the library alone."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import uvloop

from bench.results import table, verdict
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_documents import Sought, Where
from pilothouse.wiring import open_host
from tests.support.documents import pdf

WORDS = ("quick brown fox jumps over lazy dog", "seven ships sail to harbour", "dawn tide quay mast")
LINES = 50
# The shortest program that has the text of every page.
FLOOR = """
import sys, pypdfium2
document = pypdfium2.PdfDocument(sys.argv[1])
size = 0
for index in range(len(document)):
    page = document[index]
    text = page.get_textpage()
    size += len(text.get_text_bounded())
    text.close()
    page.close()
print(size)
"""


def book(pages: int, seed: int) -> bytes:
    """Return a PDF of pages full of text, another one for each seed."""
    words = [word for line in WORDS for word in line.split()]
    count = len(words)
    return pdf(
        [
            [
                f"Page {page + 1} line {line + 1} of {seed}: "
                + " ".join(words[(page * 7 + line * 3 + word) % count] for word in range(10))
                for line in range(LINES)
            ]
            for page in range(pages)
        ],
        outline=[(f"Chapter {page // 20 + 1}", page) for page in range(0, pages, 20)],
    )


class Watch:
    """The most memory that any process of ours below this one had."""

    def __init__(self) -> None:
        self.most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        me = psutil.Process()
        while not self._over.wait(0.02):
            for child in me.children(recursive=True):
                try:
                    self.most = max(self.most, child.memory_info().rss)
                except psutil.Error:
                    continue


def floor(file: Path, times: int) -> float:
    """Return the middle time of the library alone, in a process of its own."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", FLOOR, str(file)], check=True, capture_output=True)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def measure(folder: Path, pages: int, times: int) -> None:
    """Import as many books, and search in them."""
    taken: list[float] = []
    found: list[float] = []
    lag = 0.0
    with Watch() as watch:
        async with open_host(folder / "home") as host:
            for number in range(times):
                content = book(pages, number)

                stop = asyncio.Event()
                beating = asyncio.create_task(_longest_lag(stop))
                began = time.perf_counter()
                where = Where(scope="everywhere")
                done = await host.api.documents.upload(LOCAL_OWNER, _once(content), f"book {number}.pdf", where)
                taken.append(time.perf_counter() - began)
                stop.set()
                lag = max(lag, await beating)
                assert done.document.pages == pages, done
                began = time.perf_counter()
                hits = await host.api.documents.search(LOCAL_OWNER, Sought(q=f"harbour line 7 of {number}"))
                found.append(time.perf_counter() - began)
                assert hits.hits
    file = folder / "book.pdf"
    file.write_bytes(book(pages, 0))
    bare = floor(file, times)
    ours = statistics.median(taken)
    rows = [
        ("import", f"{ours:.2f} s"),
        ("the library alone", f"{bare:.2f} s"),
        ("memory of the helper", f"{watch.most / 1024**2:.0f} MB"),
        ("longest lag of the event loop", f"{lag * 1_000:.0f} ms"),
        ("a search in them", f"{statistics.median(found) * 1_000:.0f} ms"),
    ]
    table(f"a PDF of {pages} pages, {len(book(pages, 0)) // 1024} KB", rows)
    verdict("import, in seconds", ours, 10)
    verdict("import against the library alone", ours / bare, 5)
    verdict("memory of the helper, in MB", watch.most / 1024**2, 300)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _longest_lag(stop: asyncio.Event) -> float:
    longest = 0.0
    while not stop.is_set():
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        longest = max(longest, time.perf_counter() - began - 0.005)
    return longest


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(measure(Path(folder), given.pages, given.times))


if __name__ == "__main__":
    main()
