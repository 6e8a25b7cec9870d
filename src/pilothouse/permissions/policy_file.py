"""`policy.json`: what it may hold. A rule is kept only if it does to its own examples what they say."""

from __future__ import annotations

import os

import msgspec

from pilothouse.permissions.matching import Subject
from pilothouse.permissions.policy import RuleSet, speaks_about
from pilothouse.permissions.programs import is_open_ended
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect, PathUse
from pilothouse.types.authority import DESTINATION, Example, Pattern, Rule, is_glob
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, convert

VERSION = "1.0"
_Place = tuple[str | int, ...]


class PolicyFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `policy.json`."""

    version: str = VERSION
    rules: tuple[Rule, ...] = ()


def new_policy() -> JsonObject:
    """Return the content of a new file: no rules."""
    return {"version": VERSION, "rules": []}


def parse_policy(raw: JsonObject) -> RuleSet:
    """Return the content of `policy.json`, ready to be asked; raise a BadField for what does not fit."""
    content = convert(raw, PolicyFile)
    if content.version.partition(".")[0] != VERSION.partition(".")[0]:
        message = f"Version {content.version} of this file is not known here; this is version {VERSION}."
        raise BadField(("version",), message)
    return checked_rules(content.rules)


def checked_rules(rules: tuple[Rule, ...]) -> RuleSet:
    """Return rules ready to be asked; raise a BadField that names the rule which cannot be kept, and why."""
    if len(rules) > limits.RULES:
        raise BadField(("rules",), f"There can be {limits.RULES:,} rules, not {len(rules):,}.")
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        at: _Place = ("rules", index)
        if not rule.id.strip() or len(rule.id) > limits.RULE_ID_CHARS or not rule.id.isprintable():
            raise BadField((*at, "id"), f"A rule needs an id of 1 to {limits.RULE_ID_CHARS} visible characters.")
        if rule.id in seen:
            raise BadField((*at, "id"), f"Two rules have the id “{rule.id}”.")
        seen.add(rule.id)
        _check_pattern(rule, (*at, "pattern"))
        _check_examples(rule, at)
    return RuleSet(rules)


def checked_pattern(pattern: Pattern) -> None:
    """Raise a BadField for a pattern by which nothing could be allowed."""
    _check_pattern(Rule(id="", verdict="allow", pattern=pattern), ())


def _check_pattern(rule: Rule, at: _Place) -> None:
    pattern = rule.pattern
    for name, wrong in (
        ("tool", _wrong_tool(pattern.tool)),
        ("paths", next(filter(None, map(_wrong_path, pattern.paths)), "")),
        ("command", _wrong_command(pattern.command) or (_too_wide(pattern) if rule.verdict == "allow" else "")),
        ("destination", _wrong_destination(pattern.destination)),
        ("folder", "" if not pattern.folder or os.path.isabs(pattern.folder) else "Give the folder's whole path."),
    ):
        if wrong:
            raise BadField((*at, name), f"Rule “{rule.id}”: {wrong}" if rule.id else wrong[0].upper() + wrong[1:])


def _wrong_tool(tool: str) -> str:
    star = tool.removesuffix(".*") if tool != "*" else ""
    if not tool.strip() or "*" in star or tool == ".*":
        return "a tool is named like `file_operations.create_file`, `github.*`, or `*`."
    return ""


def _wrong_path(path: str) -> str:
    if not path or "\0" in path or ".." in path.split("/"):
        return f"“{path}” is no pattern of paths: it has no “..” and is not empty."
    return "" if is_glob(path) else f"“{path}”: `**` stands alone between slashes."


def _wrong_command(words: tuple[str, ...]) -> str:
    if "*" in words[:-1]:
        return "`*` can only be the last word of a command."
    if words and not words[0].strip():
        return "a command begins with the name of a program."
    return ""


def _too_wide(pattern: Pattern) -> str:
    words = pattern.command
    if words == ("*",):
        return "a rule cannot allow every command; name the program."
    if words[-1:] == ("*",) and is_open_ended(words[:-1]):
        said = " ".join(words[:-1])
        return f"“{said}” can run or overwrite other things by its words, so allow its exact words, without `*`."
    return ""


def _wrong_destination(name: str) -> str:
    if name and DESTINATION.fullmatch(name) is None:
        return f"“{name}” is not a host or a server: write it like `example.com` or `*.example.com`."
    return ""


def _check_examples(rule: Rule, at: _Place) -> None:
    if len(rule.match) + len(rule.not_match) > limits.RULE_EXAMPLES:
        raise BadField(at, f"Rule “{rule.id}” has more than {limits.RULE_EXAMPLES} examples.")
    for name, examples, wanted in (("match", rule.match, True), ("notMatch", rule.not_match, False)):
        for index, example in enumerate(examples):
            if speaks_about(rule, _subject(example, rule.pattern)) != wanted:
                said = "should be about" if wanted else "should not be about"
                fact = "is not" if wanted else "is"
                message = f"Rule “{rule.id}” {said} its example {index + 1} ({_in_words(example)}), and {fact}."
                raise BadField((*at, name, index), message)


def _subject(example: Example, pattern: Pattern) -> Subject:
    """Return an example as a call; what it does not say is as the pattern wants it."""
    folder = pattern.folder if pattern.folder and example.folder == "/" else example.folder
    return subject_of(msgspec.structs.replace(example, folder=folder), pattern.definition)


def subject_of(example: Example, definition: str = "") -> Subject:
    """Return an example as a call."""
    folder = example.folder
    paths = (os.path.normpath(os.path.join(folder, os.path.expanduser(path))) for path in example.paths)
    effect: Effect = "runs" if example.command else "sends" if example.destination else "writes"
    access = Access(
        operation=example.tool,
        effects=frozenset({effect}),
        paths=tuple(PathUse(path=path, effect="reads", inside=False) for path in paths),
        command=CommandUse(text=example.command, folder=folder) if example.command else None,
        destination=example.destination,
    )
    return Subject(access, definition, folder)


def _in_words(example: Example) -> str:
    parts = (example.tool, example.command, " ".join(example.paths), example.destination)
    return ", ".join(part for part in parts if part)
