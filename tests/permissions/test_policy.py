"""Rules: the strictest wins whatever their order, a broken file allows nothing, and examples are believed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from pilothouse.permissions.matching import Subject
from pilothouse.permissions.policy import UNREADABLE, Policy, RuleSet, speaks_about
from pilothouse.permissions.policy_file import checked_rules, new_policy, parse_policy
from pilothouse.settings.json_file import JsonFile
from pilothouse.types.authority import Example, Pattern, Rule, Verdict
from pilothouse.types.errors import BadField
from tests.permissions.accesses import FOLDER, TERMINAL, a_command, a_rule, a_subject, an_access

CREATE = "file_operations.create_file"
WRITE = a_subject(an_access(CREATE, paths=[f"{FOLDER}/src/a.py"]))

# A small world, in which rules and calls meet often.
PATHS = [f"{FOLDER}/src/a.py", f"{FOLDER}/src", f"{FOLDER}/docs/b.md", FOLDER, "/etc/hosts", "/home/me", "/"]
GLOBS = ["src/**", "**", "*.md", "**/*.py", "docs/b.md", "/etc/**", "/srv/**", f"{FOLDER}/src/*", "/**", "none/x"]
COMMANDS = ["git status", "git push -f", "ls src", "rm x; ls", "env rm x", "cat /etc/hosts", "curl api.b.org", "a $x"]
WORDS = [
    ("git", "status"),
    ("git", "*"),
    ("git", "push"),
    ("rm", "*"),
    ("ls", "*"),
    ("*",),
    ("env", "rm", "x"),
    ("a b",),
]
HOSTS = ["", "b.org", "api.b.org", "github", "anywhere"]
HOST_PATTERNS = ["", "*", "b.org", "*.b.org", "*.org", "GitHub", "org"]
TOOLS = ["*", CREATE, "file_operations.*", TERMINAL, "terminal_operations.*", "github.*", "github.x.*", "github.x.y"]


def some_rule(rng: random.Random, number: int) -> Rule:
    verdicts: list[Verdict] = ["allow", "ask", "deny"]
    pattern = Pattern(
        tool=rng.choice(TOOLS),
        definition=rng.choice(["", "", "", "d"]),
        paths=tuple(rng.choices(GLOBS, k=rng.randint(0, 2))),
        command=rng.choice([*[()] * 8, *WORDS]),
        destination=rng.choice([*[""] * 6, *HOST_PATTERNS]),
        folder=rng.choice([*[""] * 4, FOLDER, "/home"]),
    )
    return Rule(id=f"r{number}", verdict=rng.choice(verdicts), pattern=pattern)


def some_subject(rng: random.Random) -> Subject:
    effects: list[Literal["reads", "writes"]] = ["reads", "writes"]
    host = rng.choice(HOSTS)
    access = an_access(
        rng.choice([CREATE, TERMINAL, "github.x.y", "github.z"]),
        paths=rng.choices(PATHS, k=rng.randint(0, 2)),
        effect=rng.choice(effects),
        command=rng.choice([None, *COMMANDS]),
        destination=host,
        network=bool(host),
    )
    return a_subject(access, rng.choice(["", "d"]))


def judged_by(rules: list[Rule], subject: Subject) -> Rule | None:
    """Ask every single rule: slow, and what finding them quickly is held against."""
    strictness = {"allow": 2, "ask": 1, "deny": 0}
    found = [rule for rule in rules if speaks_about(rule, subject)]
    return min(found, key=lambda rule: (strictness[rule.verdict], rule.id), default=None)


@pytest.mark.case("AUTHZ-06")
@pytest.mark.slow
def test_the_strictest_rule_decides_whatever_the_order_and_however_it_is_found() -> None:
    rng = random.Random(6)
    decided = 0
    for _ in range(1_500):
        rules = [some_rule(rng, number) for number in range(rng.randint(1, 12))]
        subject = some_subject(rng)
        slow = judged_by(rules, subject)
        assert RuleSet(rules).strictest(subject) == slow, (rules, subject.access)
        rng.shuffle(rules)
        assert RuleSet(rules).strictest(subject) == slow
        decided += slow is not None
    assert decided > 300


@pytest.mark.case("AUTHZ-06", "ATZ-15")
def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    allow = a_rule("a", "allow", tool=CREATE, paths=("src/**",))
    ask = a_rule("b", "ask", tool="file_operations.*")
    deny = a_rule("c", "deny", paths=("src/a.py",))
    found = [RuleSet(rules).strictest(WRITE) for rules in ([allow], [allow, ask], [ask, allow], [deny, allow, ask])]
    assert [rule.id for rule in found if rule is not None] == ["a", "b", "b", "c"]
    assert RuleSet([deny]).strictest(a_subject(an_access(CREATE, paths=[f"{FOLDER}/src/b.py"]))) is None


def ten_thousand() -> list[Rule]:
    rules = [
        a_rule(f"tool-{n}", "allow", tool=f"server{n}.read", destination=f"h{n}.example.com") for n in range(2_500)
    ]
    rules += [a_rule(f"path-{n}", "deny", tool="file_operations.*", paths=(f"src/part{n}/**",)) for n in range(2_500)]
    rules += [a_rule(f"command-{n}", "deny", tool=TERMINAL, command=(f"program{n}", "*")) for n in range(2_500)]
    rules += [a_rule(f"host-{n}", "ask", destination=f"*.h{n}.example.com") for n in range(2_500)]
    return rules


@pytest.mark.case("AUTHZ-06")
@pytest.mark.slow
def test_ten_thousand_rules_are_asked_in_a_moment_and_each_of_them_is_heard() -> None:
    rules = RuleSet(ten_thousand())
    asked = {
        "path-1234": a_subject(an_access(CREATE, paths=[f"{FOLDER}/src/part1234/x"])),
        "command-77": a_command("program77 x"),
        "command-78": a_command("true; program78 x"),
        "host-9": a_subject(an_access("x.y", destination="api.h9.example.com")),
        "tool-2000": a_subject(an_access("server2000.read", destination="h2000.example.com")),
        "": WRITE,
    }
    begun = time.process_time()
    for rule_id, subject in asked.items():
        found = rules.strictest(subject)
        assert (found.id if found is not None else "") == rule_id
    assert time.process_time() - begun < 1.0


def a_file(folder: Path) -> JsonFile[RuleSet]:
    return JsonFile(folder / "policy.json", parse_policy, new_policy, backup=folder / "policy.last-good.json")


def write(folder: Path, *rules: Mapping[str, object]) -> None:
    (folder / "policy.json").write_text(json.dumps({"version": "1.0", "rules": rules}))


ALLOW = {"id": "may-write", "verdict": "allow", "pattern": {"tool": CREATE}}
DENY = {"id": "no-push", "verdict": "deny", "pattern": {"command": ["git", "push", "*"]}}


@pytest.mark.case("AUTHZ-08", "ATZ-15")
def test_rules_in_the_file_are_in_force_as_soon_as_they_are_saved(tmp_path: Path) -> None:
    policy = Policy(a_file(tmp_path))
    assert policy.judge(WRITE) is None
    write(tmp_path, ALLOW, DENY)
    allowed, denied = policy.judge(WRITE), policy.judge(a_command("git push"))
    assert allowed is not None
    assert (allowed.verdict, allowed.rule) == ("allow", "may-write")
    assert denied is not None
    assert (denied.verdict, denied.rule) == ("deny", "no-push")
    assert policy.problem is None


BROKEN = {
    "not JSON": '{"rules": [',
    "half-written": '{"version": "1.0", "rules": [{"id": "a"',
    "empty": "",
    "not an object": "[]",
    "a rule without a verdict": '{"rules": [{"id": "a", "pattern": {}}]}',
    "an unknown field": '{"rules": [{"id": "a", "verdict": "allow", "pattern": {"tol": "x"}}]}',
    "an unknown verdict": '{"rules": [{"id": "a", "verdict": "permit", "pattern": {}}]}',
    "of the future": '{"version": "9.0", "rules": []}',
}


@pytest.mark.case("AUTHZ-08")
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("restarted", [False, True], ids=["while running", "and restarted"])
def test_a_broken_file_allows_nothing_denies_as_before_and_is_told(tmp_path: Path, text: str, restarted: bool) -> None:
    write(tmp_path, ALLOW, DENY)
    policy = Policy(a_file(tmp_path))
    assert policy.judge(WRITE) is not None
    (tmp_path / "policy.json").write_text(text)
    if restarted:
        policy = Policy(a_file(tmp_path))
    asked, denied = policy.judge(WRITE), policy.judge(a_command("git push"))
    # An empty file at the start is a new one: no rules, so nothing is allowed either.
    if text or not restarted:
        assert asked is not None
        assert (asked.verdict, asked.rule) == ("ask", UNREADABLE)
        assert denied is not None
        assert denied.verdict == "deny"
        assert policy.problem is not None
        assert str(tmp_path / "policy.json") == policy.problem.file
    assert asked is None or asked.verdict == "ask"


@pytest.mark.case("AUTHZ-08")
def test_a_file_that_is_gone_or_may_not_be_read_allows_nothing(tmp_path: Path) -> None:
    write(tmp_path, ALLOW)
    policy = Policy(a_file(tmp_path))
    (tmp_path / "policy.json").unlink()
    gone = policy.judge(WRITE)
    (tmp_path / "policy.json").mkdir()
    folder = policy.judge(WRITE)
    assert [ruling.verdict for ruling in (gone, folder) if ruling is not None] == ["ask", "ask"]


@pytest.mark.case("AUTHZ-08")
def test_a_mended_file_is_taken_up_again(tmp_path: Path) -> None:
    write(tmp_path, ALLOW)
    policy = Policy(a_file(tmp_path))
    (tmp_path / "policy.json").write_text("{")
    policy.judge(WRITE)
    write(tmp_path, ALLOW, DENY)
    ruling = policy.judge(WRITE)
    assert ruling is not None
    assert ruling.verdict == "allow"


@pytest.mark.case("ATZ-15")
def test_a_rule_whose_examples_hold_is_kept() -> None:
    rule = Rule(
        id="logs",
        verdict="allow",
        pattern=Pattern(tool=TERMINAL, command=("git", "log", "*")),
        match=(Example(tool=TERMINAL, command="git log main"),),
        not_match=(
            Example(tool=TERMINAL, command="git log main; rm x"),
            Example(tool=TERMINAL, command="git log --output=x"),
        ),
    )
    assert checked_rules((rule,)).rules == (rule,)


@pytest.mark.case("ATZ-15")
def test_a_rule_that_does_not_do_what_its_examples_say_is_refused_by_name() -> None:
    pattern = Pattern(tool=CREATE, paths=("src/**",))
    inside, outside = Example(tool=CREATE, paths=("src/a.py",)), Example(tool=CREATE, paths=("docs/a.md",))
    with pytest.raises(BadField) as wrong:
        checked_rules((Rule(id="sources", verdict="allow", pattern=pattern, match=(inside, outside)),))
    assert wrong.value.path == ("rules", 0, "match", 1)
    assert "“sources” should be about its example 2 (file_operations.create_file, docs/a.md)" in wrong.value.message
    with pytest.raises(BadField) as wrong:
        checked_rules((Rule(id="sources", verdict="allow", pattern=pattern, not_match=(inside,)),))
    assert wrong.value.path == ("rules", 0, "notMatch", 0)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (Pattern(tool=""), "a tool is named like"),
        (Pattern(tool="a*.b"), "a tool is named like"),
        (Pattern(paths=("../x",)), "no “..”"),
        (Pattern(paths=("a**",)), "stands alone"),
        (Pattern(command=("*", "x")), "last word"),
        (Pattern(command=("*",)), "cannot allow every command"),
        (Pattern(command=("find", "*")), "allow its exact words"),
        (Pattern(command=("git", "*")), "allow its exact words"),
        (Pattern(destination="https://example.com/"), "not a host"),
        (Pattern(destination="*.*"), "not a host"),
        (Pattern(folder="src"), "whole path"),
    ],
)
def test_a_rule_that_could_never_do_what_it_says_is_refused_with_the_reason(pattern: Pattern, said: str) -> None:
    with pytest.raises(BadField) as wrong:
        checked_rules((Rule(id="mine", verdict="allow", pattern=pattern),))
    assert wrong.value.message.startswith("Rule “mine”: ")
    assert said in wrong.value.message


def test_two_rules_of_one_id_and_a_rule_without_one_are_refused() -> None:
    for ids in (("a", "a"), ("",), (" ",), ("x" * 81,)):
        with pytest.raises(BadField):
            checked_rules(tuple(Rule(id=each, verdict="ask", pattern=Pattern()) for each in ids))
