"""Answering what runs ask: the first answer counts, once; what it allows beyond the one call is kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pilothouse.agent import questions
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.host import answers
from pilothouse.host.engine import Engine
from pilothouse.types import limits
from pilothouse.types.admin import Permissions
from pilothouse.types.api import Answer, Answers, AnswersTaken, AnswerTaken
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.host import Questions
from pilothouse.types.item_data import AnswerData, CallData
from pilothouse.types.items import Item, Question, is_a, patch
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.records import Records
from pilothouse.types.runs import Run


class QuestionService(Questions):
    """Takes answers."""

    def __init__(self, records: Records, engine: Engine, permissions: Permissions, results: Pipeline) -> None:
        self._records = records
        self._engine = engine
        self._permissions = permissions
        self._results = results

    async def answer(self, owner: str, item_id: str, body: Answer) -> Run:
        return (await self._take(owner, await self._records.item(owner, item_id), body))[0]

    async def signed_in(self, server: str) -> None:
        """Let go on what waited until someone signed in to a server."""
        for owner, item_id in await self._records.asked_to_sign_in(server):
            # Someone may have answered it meanwhile.
            with suppress(PilothouseError):
                await self.answer(owner, item_id, Answer(choice="accept"))

    async def _take(self, owner: str, item: Item, body: Answer) -> tuple[Run, set[str]]:
        question, answer = await self._checked_answer(item, body, owner)
        changed = None if body.arguments is None else await self._changed(owner, question, body.arguments)
        return await self._take_answer(owner, question, answer, changed)

    async def _changed(self, owner: str, question: Question, arguments: JsonObject) -> JsonObject:
        """Return what the item of a call says from now on, whose arguments the person changed."""
        call = await self._records.item(owner, question.data.call_item_id)
        if not is_a(call, CallData) or call.data.sealed:
            message = "This call's arguments hold a secret, so they cannot be changed."
            raise PilothouseError("bad_request", message, fix="Deny it, and say what to do instead.")
        kept = await self._results.keep_arguments(arguments, call.id)
        data = call.data
        return patch(
            CallData,
            arguments=kept.arguments,
            asked_arguments=data.arguments if data.asked_arguments is None else data.asked_arguments,
            argument_bytes=len(encode(arguments)),
            sealed=kept.sealed or None,
            masked=bool(kept.sealed),
        )

    async def answer_many(self, owner: str, body: Answers) -> AnswersTaken:
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
        return (await self._take(owner, question, body.answer))[1]

    async def _checked_answer(self, item: Item, body: Answer, owner: str) -> tuple[Question, AnswerData]:
        question, answer = await answers.checked(item, body, owner)
        pattern = answers.pattern_of(question, answer)
        if pattern is not None:
            # Before anything is settled: an answer whose permission cannot be kept is no answer yet.
            self._permissions.vet(pattern, lasting=answer.choice == "always")
        return question, answer

    async def _take_answer(
        self, owner: str, question: Question, answer: AnswerData, changed: JsonObject | None = None
    ) -> tuple[Run, set[str]]:
        """Keep an answer with what it allows, and let the run go on; return which questions it settled."""
        settled: set[str] = set()

        def settle(now: Run, left: Sequence[Item]) -> tuple[Run, list[Event]]:
            run, events = questions.answered(now, left, question.id, answer, changed)
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

    async def _keep_allowed(self, owner: str, question: Question, answer: AnswerData) -> None:
        if (grant := answers.grant_of(question, answer, owner)) is not None:
            await self._permissions.add_grant(grant)
        if (rule := answers.rule_of(question, answer)) is not None:
            await self._permissions.add_rule(rule)
