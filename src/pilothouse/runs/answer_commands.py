"""Answering what runs ask: the first answer counts, once; what it allows beyond the one call is kept."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.agent import questions
from pilothouse.runs import answers
from pilothouse.runs.engine import Engine
from pilothouse.types import limits
from pilothouse.types.admin import Permissions
from pilothouse.types.api import Answer, Answers, AnswersTaken, AnswerTaken
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.records import Records
from pilothouse.types.runs import Run


class AnswerCommands:
    """The part of the service that takes answers."""

    def __init__(self, records: Records, engine: Engine, permissions: Permissions) -> None:
        self._records = records
        self._engine = engine
        self._permissions = permissions

    async def answer(self, owner: str, item_id: str, body: Answer) -> Run:
        """Answer a question and let its run go on."""
        question = await self._records.item(owner, item_id)
        run, _ = await self._take_answer(owner, question, await self._checked_answer(question, body, owner))
        return run

    async def answer_many(self, owner: str, body: Answers) -> AnswersTaken:
        """Give several questions the same answer; each is taken or not by itself."""
        if not 0 < len(body.item_ids) <= limits.ANSWERS_AT_ONCE:
            raise PilothouseError("bad_request", f"Name 1 to {limits.ANSWERS_AT_ONCE} questions.")
        settled: set[str] = set()
        taken = []
        for item_id in dict.fromkeys(body.item_ids):
            try:
                if item_id not in settled:
                    settled |= await self._one_of_many(owner, item_id, body)
                taken.append(AnswerTaken(item_id=item_id, taken=True))
            except PilothouseError as error:
                taken.append(AnswerTaken(item_id=item_id, taken=False, message=str(error)))
        return AnswersTaken(answers=tuple(taken))

    async def _one_of_many(self, owner: str, item_id: str, body: Answers) -> set[str]:
        question = await self._records.item(owner, item_id)
        if len(body.item_ids) > 1 and answers.alone(question, body.answer):
            raise PilothouseError("bad_request", "This question must be answered by itself.")
        answer = await self._checked_answer(question, body.answer, owner)
        _, settled = await self._take_answer(owner, question, answer)
        return settled

    async def _checked_answer(self, question: Item, body: Answer, owner: str) -> JsonObject:
        answer = await answers.checked(question, body, owner)
        pattern = answers.pattern_of(question, answer)
        if pattern is not None:
            # Before anything is settled: an answer whose permission cannot be kept is no answer yet.
            self._permissions.vet(pattern, lasting=answer["choice"] == "always")
        return answer

    async def _take_answer(self, owner: str, question: Item, answer: JsonObject) -> tuple[Run, set[str]]:
        """Keep an answer with what it allows, and let the run go on; return which questions it settled."""
        settled: set[str] = set()

        def settle(now: Run, left: Sequence[Item]) -> tuple[Run, list[Event]]:
            run, events = questions.answered(now, left, question.id, answer)
            settled.update(str(getattr(event, "item_id", "")) for event in events)
            return run, events

        run = await self._records.settle_run(question.run_id or "", settle)
        if run is None:
            raise PilothouseError("bad_request", "That is not a question.")
        try:
            # After the answer: one that came too late allows nothing. Before the run goes on: it counts for it.
            await self._keep_allowed(owner, question, answer)
        finally:
            if run.status == "queued":
                await self._engine.start(run.conversation_id)
        return run, settled

    async def _keep_allowed(self, owner: str, question: Item, answer: JsonObject) -> None:
        if (grant := answers.grant_of(question, answer, owner)) is not None:
            await self._permissions.add_grant(grant)
        if (rule := answers.rule_of(question, answer)) is not None:
            await self._permissions.add_rule(rule)
