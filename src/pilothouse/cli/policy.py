"""`pilothouse policy`: list, add, remove, check and replay rules."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from pilothouse.cli.pattern_form import PatternForm
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.authority import Example, PolicyInput, PolicyView, Rule, Verdict
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import convert
from pilothouse.types.patterns import in_words


class Asked(NamedTuple):
    """A call to try the rules on."""

    tool: str
    path: str
    command: str
    destination: str
    folder: str


async def list_rules(*, as_json: bool) -> int:
    """List the rules, and how often each decided lately."""
    async with connect_host() as api:
        policy = await api.policy(LOCAL_OWNER)
    if as_json:
        output().json(policy)
        return 0
    uses = {use.rule_id: use.uses for use in policy.uses}
    rows = [(rule.id, rule.verdict, str(uses.get(rule.id, 0)), _about(rule)) for rule in policy.rules]
    if rows:
        show_table(output(), ("rule", "says", "used", "about"), rows)
    else:
        messages().line("There are no rules yet. Add one: pilothouse policy add --help")
    _tell_problem(policy)
    return 0


def _about(rule: Rule) -> str:
    return f"{in_words(rule.pattern)} ({rule.note})" if rule.note else in_words(rule.pattern)


def _tell_problem(policy: PolicyView) -> None:
    problem = policy.problem
    if problem is not None:
        place = f", line {problem.line}" if problem.line else ""
        said = f"{problem.file}{place}: {problem.message} Until it is mended, nothing is allowed by rule."
        messages().line(one_line(said), "yellow")


async def add(verdict: Verdict, form: PatternForm, note: str) -> int:
    """Add a rule, and print its id."""
    pattern = form.allowed if verdict == "allow" else form.pattern
    match, not_match = form.examples
    async with connect_host() as api:
        rules = await _readable(api)
        rule = Rule(id=_free_id(rules), verdict=verdict, pattern=pattern, note=note, match=match, not_match=not_match)
        await api.set_policy(LOCAL_OWNER, PolicyInput(rules=(*rules, rule)))
    output().line(rule.id)
    return 0


async def _readable(api: ClientApi) -> tuple[Rule, ...]:
    """Return the rules; a file that cannot be read is mended first, not replaced by what was in it before."""
    policy = await api.policy(LOCAL_OWNER)
    if policy.problem is not None:
        problem = policy.problem
        raise PilothouseError("conflict", f"{problem.file} cannot be read: {problem.message}", fix="Mend it first.")
    return policy.rules


def _free_id(rules: Sequence[Rule]) -> str:
    taken, number = {rule.id for rule in rules}, len(rules) + 1
    while f"rule-{number}" in taken:
        number += 1
    return f"rule-{number}"


async def remove(rule_id: str) -> int:
    """Remove a rule."""
    async with connect_host() as api:
        rules = await _readable(api)
        left = tuple(rule for rule in rules if rule.id != rule_id)
        if len(left) == len(rules):
            raise PilothouseError("not_found", f"There is no rule {rule_id}.", fix="See pilothouse policy list.")
        await api.set_policy(LOCAL_OWNER, PolicyInput(rules=left))
    messages().line(f"Removed {rule_id}.")
    return 0


async def check(asked: Asked, *, as_json: bool) -> int:
    """Say what the rules would do about a call."""
    example = Example(
        tool=asked.tool,
        paths=(asked.path,) if asked.path else (),
        command=asked.command,
        destination=asked.destination,
        folder=asked.folder,
    )
    async with connect_host() as api:
        found = await api.check_policy(LOCAL_OWNER, example)
    if as_json:
        output().json(found)
        return 0
    output().line(f"{found.verdict or 'no rule'}  {found.rule}".rstrip())
    messages().line(found.why)
    return 0


async def replay(file: Path | None, *, as_json: bool) -> int:
    """Say which calls of the past rules would have decided otherwise."""
    async with connect_host() as api:
        rules = _rules_in(file) if file is not None else (await api.policy(LOCAL_OWNER)).rules
        report = await api.replay_policy(LOCAL_OWNER, PolicyInput(rules=rules))
    if as_json:
        output().json(report)
        return 0
    if not report.looked_at:
        messages().line("There are no calls yet to try rules on.")
        return 0
    messages().line(
        f"Of {report.looked_at:,} calls, {report.allowed:,} would be allowed, {report.asked:,} asked about and "
        f"{report.denied:,} denied."
    )
    rows = [
        (time.strftime("%Y-%m-%d %H:%M", time.localtime(one.at)), one.before, one.after, one.rule, one.summary)
        for one in report.changed
    ]
    if rows:
        show_table(output(), ("when", "was", "would be", "rule", "call"), rows)
    else:
        messages().line("None of them would have been decided otherwise.")
    return 0


def _rules_in(file: Path) -> tuple[Rule, ...]:
    try:
        raw = msgspec.json.decode(file.read_bytes())
        return convert(raw, _File).rules
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        reason = (error.strerror or "it failed").lower() if isinstance(error, OSError) else "it is not JSON"
        raise PilothouseError("bad_request", f"{file} cannot be read: {reason}.") from None
    except BadField as error:
        raise PilothouseError("bad_request", f"{file}: {error.message}") from None


class _File(msgspec.Struct, frozen=True):
    """The content of a file of rules."""

    rules: tuple[Rule, ...] = ()
