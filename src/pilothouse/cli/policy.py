"""`pilothouse policy`: list, add, remove, check and replay rules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from pilothouse.cli.options import AsJson, command, given, new_app
from pilothouse.cli.pattern_form import RuleForm
from pilothouse.cli.tables import show_table, tell_problem, when
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.types.authority import CallInShort, PolicyInput, Rule, Verdict
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import convert
from pilothouse.types.patterns import in_words

app = new_app()


@command(app, "list")
async def list_rules(json: AsJson = False) -> int:
    """List the rules, and how often each decided lately."""
    async with connect_host() as api:
        policy = await api.permissions.policy(LOCAL_OWNER)
    if json:
        output().json(policy)
        return 0
    uses = {use.rule_id: use.uses for use in policy.uses}
    rows = [(rule.id, rule.verdict, str(uses.get(rule.id, 0)), _about(rule)) for rule in policy.rules]
    none = "There are no rules yet. Add one: pilothouse policy add --help"
    show_table(output(), ("rule", "says", "used", "about"), rows, none=none)
    tell_problem(policy.problem, "Until it is mended, nothing is allowed by rule.")
    return 0


def _about(rule: Rule) -> str:
    return f"{in_words(rule.pattern)} ({rule.note})" if rule.note else in_words(rule.pattern)


@command(app)
async def add(
    verdict: Annotated[Verdict, typer.Argument(metavar="VERDICT", help="allow, ask or deny.")],
    note: Annotated[str, given(help="Why, for whoever reads it later.")] = "",
    *,
    form: RuleForm,
) -> int:
    """Add a rule; its examples are tried before it is kept.

    Of several rules about a call the strictest wins: deny, then ask, then allow. A rule that allows a command is about
    exactly one command of plain words, never about options that it does not name.
    """
    pattern = form.allowed if verdict == "allow" else form.pattern
    match, not_match = form.examples
    async with connect_host() as api:
        rules = await _readable(api)
        rule = Rule(id=_free_id(rules), verdict=verdict, pattern=pattern, note=note, match=match, not_match=not_match)
        await api.permissions.set_policy(LOCAL_OWNER, PolicyInput(rules=(*rules, rule)))
    output().line(rule.id)
    return 0


async def _readable(api: ClientApi) -> tuple[Rule, ...]:
    """Return the rules; a file that cannot be read is mended first, not replaced by what was in it before."""
    policy = await api.permissions.policy(LOCAL_OWNER)
    if policy.problem is not None:
        problem = policy.problem
        raise PilothouseError("conflict", f"{problem.file} cannot be read: {problem.message}", fix="Mend it first.")
    return policy.rules


def _free_id(rules: Sequence[Rule]) -> str:
    taken, number = {rule.id for rule in rules}, len(rules) + 1
    while f"rule-{number}" in taken:
        number += 1
    return f"rule-{number}"


@command(app)
async def remove(rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule's id.")]) -> int:
    """Remove a rule."""
    async with connect_host() as api:
        rules = await _readable(api)
        left = tuple(one for one in rules if one.id != rule)
        if len(left) == len(rules):
            raise PilothouseError("not_found", f"There is no rule {rule}.", fix="See pilothouse policy list.")
        await api.permissions.set_policy(LOCAL_OWNER, PolicyInput(rules=left))
    messages().line(f"Removed {rule}.")
    return 0


@command(app)
async def check(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="`terminal_operations.run_command`, `github.push`, …")],
    path: Annotated[str, given(metavar="PATH", help="What it would touch.")] = "",
    command_text: Annotated[str, given("--command", metavar="COMMAND", help="What it would run.")] = "",
    destination: Annotated[str, given(metavar="HOST", help="Where it would send to.")] = "",
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Its working directory.")] = ".",
    json: AsJson = False,
) -> int:
    """Say what the rules would do about a call."""
    call = CallInShort(tool, path, command_text, destination, _whole(folder))
    async with connect_host() as api:
        found = await api.permissions.check_policy(LOCAL_OWNER, call)
    if json:
        output().json(found)
        return 0
    output().line(f"{found.verdict or 'no rule'}  {found.rule}".rstrip())
    messages().line(found.why)
    return 0


def _whole(folder: str) -> str:
    return os.path.abspath(folder)


@command(app)
async def replay(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Rules to try instead of those in force.", show_default=False)
    ] = None,
    json: AsJson = False,
) -> int:
    """Say which calls of the past rules would have decided otherwise."""
    async with connect_host() as api:
        rules = _rules_in(file) if file is not None else (await api.permissions.policy(LOCAL_OWNER)).rules
        report = await api.permissions.replay_policy(LOCAL_OWNER, PolicyInput(rules=rules))
    if json:
        output().json(report)
        return 0
    if not report.looked_at:
        messages().line("There are no calls yet to try rules on.")
        return 0
    messages().line(
        f"Of {report.looked_at:,} calls, {report.allowed:,} would be allowed, {report.asked:,} asked about and "
        f"{report.denied:,} denied."
    )
    rows = [(when(one.at), one.before, one.after, one.rule, one.summary) for one in report.changed]
    none = "None of them would have been decided otherwise."
    show_table(output(), ("when", "was", "would be", "rule", "call"), rows, none=none)
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
