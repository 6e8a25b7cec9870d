"""Finding texts by meaning, as the other parts see it: the port `Meaning`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from pilothouse.helper.client import Unreadable
from pilothouse.meaning import weights
from pilothouse.meaning.background import Background
from pilothouse.meaning.embedder import Embedder, NoVectors
from pilothouse.meaning.endpoint import Endpoint, kept_key
from pilothouse.meaning.making import Making
from pilothouse.meaning.process import BuiltIn, Computing
from pilothouse.meaning.vector_copy import VectorCopy
from pilothouse.types import limits
from pilothouse.types.embeddings import Embeddings, endpoint_problem
from pilothouse.types.errors import PilothouseError
from pilothouse.types.meaning import MeaningKind, MeaningView, Near, Purpose
from pilothouse.types.ports import Secrets
from pilothouse.types.scopes import Scope
from pilothouse.types.vectors import Asked, Vectors

_log = logging.getLogger(__name__)
_Got = TypeVar("_Got")
_ABSENT = (
    "Texts are searched by their words: the model that finds them by meaning is not installed. "
    f"Install it ({weights.HOW}), or choose an embedding endpoint in Settings."
)
_OFF = "Texts are searched by their words: finding by meaning is switched off in Settings."


class MeaningService:
    """Makes vectors and compares them; without a model, or while it fails, it finds nothing and says why."""

    def __init__(self, vectors: Vectors, settings: Callable[[], Embeddings], secrets: Secrets, folder: Path) -> None:
        self._vectors = vectors
        self._settings = settings
        self._secrets = secrets
        self._computing = Computing()
        self._copy = VectorCopy(vectors, self._computing, folder)
        self._made: tuple[Embeddings, Embedder | None] | None = None
        # Why the last try failed, of which model, and until when it is left alone.
        self._trouble: tuple[str, str, float] = ("", "", 0.0)
        self._questions: dict[tuple[str, str], bytes] = {}
        self._dimensions: dict[str, int] = {}
        # Whether there may be vectors of texts that are gone.
        self._untidy = False
        self._catching: dict[MeaningKind, asyncio.Task[None]] = {}
        self._making = Making(vectors, self._ask)
        self._background = Background(self._work)

    # --- what is asked ------------------------------------------------------------------------------

    @property
    def is_there(self) -> bool:
        """Return whether there is a model to ask; nothing is loaded for that."""
        return self._embedder() is not None

    @property
    def model(self) -> str:
        """Return which model makes the vectors."""
        embedder = self._embedder()
        return embedder.id if embedder is not None else ""

    async def view(self) -> MeaningView:
        embedder = self._embedder()
        if embedder is None:
            return MeaningView(state="words", message=self._why_not())
        done, waiting = await self._vectors.counts(embedder.id)
        model, sentence, _until = self._trouble
        if sentence and model == embedder.id:
            return MeaningView(state="failed", model=embedder.name, message=sentence, done=done, waiting=waiting)
        return MeaningView(state="ready", model=embedder.name, done=done, waiting=waiting)

    async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
        embedder = self._rested()
        if embedder is None or not texts:
            return ()
        return await self._tried(embedder, self._embedded(embedder, texts, purpose), ())

    async def near(
        self, query: str, kind: MeaningKind, owner: str, scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Near] | None:
        embedder = self._rested()
        if embedder is None:
            return None
        if not query.strip() or most < 1 or (scopes is not None and not scopes):
            return ()
        await self._catch_up(embedder, kind)
        if self._rested() is not embedder:
            return None
        asked = Asked(embedder.id, kind, owner, scopes, b"", min(most, limits.NEAR_MOST))
        return await self._tried(embedder, self._found(embedder, query, asked), None)

    def changed(self, kind: MeaningKind) -> None:
        self._making.changed(kind)
        # Messages go with their conversations, which is soon enough noticed when everything is gone through.
        self._untidy = self._untidy or kind != "message"
        self._background.wake()

    # --- what a person does in the settings ---------------------------------------------------------

    async def remake(self) -> None:
        """Forget all vectors of the present model: they are made anew, in the background."""
        embedder = self._embedder()
        if embedder is not None:
            await self._vectors.forget(embedder.id)
            self._trouble = ("", "", 0.0)
            self._questions.clear()
            self._dimensions.clear()
            self._making.forget(embedder.id)
            self._background.wake()

    def settings_changed(self) -> None:
        """Say that another model may have been chosen, or a key given: what failed is tried again."""
        self._trouble = ("", "", 0.0)
        self._background.wake()

    # --- running ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make vectors in the background from now on."""
        self._background.begin()

    async def close(self) -> None:
        """Stop, and end the process that computes."""
        await self._background.close()
        for task in tuple(self._catching.values()):
            task.cancel()
            await asyncio.wait([task])
        await self._computing.close()

    async def _work(self, *, everything: bool) -> float:
        """Make what vectors are missing; return after how many seconds there is more to do, 0 for nothing."""
        embedder = self._rested()
        if embedder is None:
            return limits.EMBEDDING_REST if self._embedder() is not None else 0.0
        return await self._tried(embedder, self._made_all(embedder, everything=everything), limits.EMBEDDING_REST)

    async def _made_all(self, embedder: Embedder, *, everything: bool) -> float:
        made = await self._making.everything(embedder, full=everything)
        if self._embedder() is embedder and (everything or self._untidy):
            await self._tidy(embedder)
        if made and not await self._vectors.searches():
            dimension = await self._dimension(embedder.id)
            for kind in made:
                await self._copy.follow(kind, self._copy.place(kind, embedder.id, dimension))
        return 0.0

    async def _tidy(self, embedder: Embedder) -> None:
        """Remove the vectors of texts that are gone, and of models that are not asked any more."""
        self._untidy = False
        after: int | None = None
        while after != 0:
            gone, after = await self._vectors.remove_orphans(embedder.id, after or 0)
            await self._copy.drop(gone)

    async def _embedded(self, embedder: Embedder, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        made: list[bytes] = []
        for batch in batches([text[: limits.MEANING_TEXT_CHARS] for text in texts]):
            made += await self._ask(embedder, batch, purpose)
        return made

    async def _found(self, embedder: Embedder, query: str, asked: Asked) -> Sequence[Near]:
        vector = await self._question(embedder, query)
        return await self._nearest(msgspec.structs.replace(asked, query=vector))

    async def _catch_up(self, embedder: Embedder, kind: MeaningKind) -> None:
        """Have vectors made of what was written lately, for a moment; what is not ready then goes on by itself."""
        task = self._catching.get(kind)
        if task is None:
            made = self._tried(embedder, self._making.catch_up(embedder, kind), None)
            task = self._catching[kind] = asyncio.create_task(made, name=f"meaning of {kind}")
            task.add_done_callback(lambda _task: self._catching.pop(kind))
        await asyncio.wait([task], timeout=limits.MEANING_MOMENT)

    async def _nearest(self, asked: Asked) -> Sequence[Near]:
        if await self._vectors.searches():
            return await self._vectors.nearest(asked)
        # What the file still has of texts that are gone takes the places of others: then it is asked once more.
        for _ in range(2):
            ids = await self._copy.nearest(asked, asked.most + limits.VECTOR_MORE)
            near, gone = await self._vectors.exact(asked, ids)
            if not gone:
                break
            await self._copy.drop(gone)
        return near

    async def _question(self, embedder: Embedder, query: str) -> bytes:
        """Return the vector of a question; those asked lately are remembered."""
        query = query[: limits.MEANING_TEXT_CHARS]
        known = self._questions.pop((embedder.id, query), None)
        if known is None:
            [known] = await self._ask(embedder, [query], "query")
        self._questions[embedder.id, query] = known
        while len(self._questions) > limits.MEANING_QUESTIONS:
            del self._questions[next(iter(self._questions))]
        return known

    async def _ask(self, embedder: Embedder, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return vectors that can be compared with those that are kept; raise NoVectors."""
        vectors = await embedder.embed(texts, purpose)
        before, now = await self._dimension(embedder.id), len(vectors[0]) // 2
        if before and now != before:
            sentence = (
                f"{embedder.name} gives vectors of {now:,} numbers now, and those that are kept have {before:,}: it is "
                "another model. Have them made anew in Settings; until then texts are searched by their words."
            )
            raise NoVectors(sentence)
        if self._trouble[0] == embedder.id:
            self._trouble = ("", "", 0.0)
        return vectors

    async def _dimension(self, model: str) -> int:
        """Return how many numbers the kept vectors of a model have, 0 if there are none."""
        if not self._dimensions.get(model):
            self._dimensions = {model: await self._vectors.dimension(model)}
        return self._dimensions[model]

    async def _tried(self, embedder: Embedder, asked: Awaitable[_Got], otherwise: _Got) -> _Got:
        """Return what was asked for; where that fails note why instead of raising it, for words are searched anyway."""
        try:
            return await asked
        except NoVectors as error:
            self._failed(embedder, error.sentence)
        except Unreadable as error:
            self._failed(embedder, f"Comparing by meaning failed: {error.why}. Texts are searched by their words.")
        except PilothouseError as error:
            self._failed(embedder, str(error))
        return otherwise

    def _failed(self, embedder: Embedder, sentence: str) -> None:
        if self._trouble[1] != sentence:
            _log.warning("%s", sentence)
        self._trouble = (embedder.id, sentence, time.monotonic() + limits.EMBEDDING_REST)

    # --- who makes the vectors ----------------------------------------------------------------------

    def _rested(self) -> Embedder | None:
        """Return whoever makes the vectors, unless it just failed."""
        embedder = self._embedder()
        model, _sentence, until = self._trouble
        return None if embedder is not None and embedder.id == model and time.monotonic() < until else embedder

    def _embedder(self) -> Embedder | None:
        settings = self._settings()
        if self._made is None or self._made[0] != settings:
            self._made = (settings, self._chosen(settings))
        return self._made[1]

    def _chosen(self, settings: Embeddings) -> Embedder | None:
        if settings.source == "built-in":
            folder = weights.folder()
            return BuiltIn(self._computing, folder) if folder is not None else None
        url, model = settings.url or "", settings.model or ""
        if settings.source == "off" or endpoint_problem(url, model):
            return None
        return Endpoint(url, model, lambda: kept_key(self._secrets, url))

    def _why_not(self) -> str:
        settings = self._settings()
        if settings.source == "built-in":
            return _ABSENT
        if settings.source == "off":
            return _OFF
        problem = endpoint_problem(settings.url or "", settings.model or "")
        return f"Texts are searched by their words, for the embedding endpoint in Settings is of no use: {problem}"


def batches(texts: Sequence[str]) -> Sequence[Sequence[str]]:
    """Return texts in pieces that are computed in a moment."""
    made: list[list[str]] = [[]]
    size = 0
    for text in texts:
        if made[-1] and (size + len(text) > limits.MEANING_BATCH_CHARS or len(made[-1]) == limits.MEANING_BATCH_TEXTS):
            made.append([])
            size = 0
        made[-1].append(text)
        size += len(text)
    return made
