"""Whether a command stands out is judged by what the shell would run, and by nothing else that it mentions."""

from __future__ import annotations

import random
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.permissions.danger import danger_of
from pilothouse.permissions.danger_table import FAMILIES, RUNNERS, runners, signs
from pilothouse.permissions.programs import is_open_ended
from pilothouse.permissions.shell import take_apart
from pilothouse.permissions.shell_words import ANY, FILES, HOME, SOME
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse
from tests.permissions.accesses import grants

CORPUS = tomllib.loads((Path(__file__).parent / "danger_corpus.toml").read_text())
DANGEROUS = [(line, why) for why, lines in CORPUS["dangerous"].items() for line in lines]
SHOP = "/srv/ada/shop"


def judged(text: str = "", *, argv: tuple[str, ...] = (), typed: bool = False) -> str:
    return danger_of(Access(operation="x", command=CommandUse(text=text, argv=argv, folder=SHOP, typed=typed)))


def words_of(text: str) -> list[list[str]]:
    return [simple.words for simple in take_apart(text).commands]


@pytest.mark.case("CMD-03", "CMD-04")
@pytest.mark.parametrize(("line", "why"), DANGEROUS)
def test_a_dangerous_line_is_told_by_what_the_shell_would_run(line: str, why: str) -> None:
    assert judged(line) == why


@pytest.mark.parametrize("line", CORPUS["harmless"])
def test_a_harmless_line_does_not_stand_out(line: str) -> None:
    assert judged(line) == ""


def test_the_corpus_has_every_family_and_as_much_that_is_harmless() -> None:
    assert len({line for line, _why in DANGEROUS}) >= 120
    assert len(set(CORPUS["harmless"])) >= 120
    assert set(FAMILIES) <= set(CORPUS["dangerous"])


@pytest.mark.parametrize(
    "way", ["{}", "true; {}", "true && {}", "if true; then {}; fi", "({})", 'echo "$({})"', "echo `{}`"]
)
@pytest.mark.parametrize("wrapped", ["{}", "env A=b {}", "timeout -s KILL 5 {}", "nice -n 5 {}", "bash -c '{}'"])
def test_a_dangerous_command_is_found_wherever_it_stands(way: str, wrapped: str) -> None:
    for line in ("git push --force", "terraform destroy", "npm publish"):
        assert judged(way.format(wrapped.format(line))), (way, wrapped)
    for line in ("git push origin x", "terraform plan", "npm test"):
        assert judged(way.format(wrapped.format(line))) == "", (way, wrapped)


def test_each_line_of_the_table_is_true_of_some_command() -> None:
    found = {program: lines for program, lines in signs().items() if not lines}
    assert found == {}
    for why, lines in FAMILIES.items():
        for line in filter(None, map(str.strip, lines.splitlines())):
            head, words, *_unless = (part.strip() for part in (*line.split("|"), ""))
            first = [part.split(",")[0].replace("*", "x") for part in head.split()]
            word = words.split()[0].replace("EVERYTHING", "..").replace("*", "x").replace("?", "t") if words else "x"
            word = word.replace("[tdsvi]", "t").replace("[ugoa+]", "u")
            assert judged(argv=(*first, word)), (why, line)


def test_words_have_marks_for_what_the_shell_makes_up() -> None:
    assert words_of("a \"b c\" 'd $e' f\\ g") == [["a", "b c", "d $e", "f g"]]
    assert words_of('a "$b" $(c) ~/d *.py $HOME "$@" x$y') == [
        ["c"],
        ["a", SOME, ANY, f"{HOME}/d", f"{FILES}.py", HOME, ANY, f"x{SOME}"],
    ]
    assert words_of("b=-r; a $b; c=x; a $c") == [[], ["a", ANY], [], ["a", SOME]]
    assert words_of("cat <<E >x; y\n$(z)\nE\nw") == [["cat"], ["y"], ["z"], ["w"]]


def test_what_is_typed_may_be_anything_that_was_set_before() -> None:
    assert judged('rm "$X" build') == ""
    assert judged('rm "$X" build', typed=True)
    assert judged("!!", typed=True)
    for keys in ("y\n", "\x03", "\x1b[A\n", ":wq\n", "bash\n", "print('it')\n", "q"):
        assert judged(keys, typed=True) == "", keys


def test_a_program_that_is_started_without_a_shell_is_judged_by_its_very_words() -> None:
    assert judged(argv=("git", "commit", "-m", "; rm -rf x")) == ""
    assert judged(argv=("git", "push", "--force"))
    assert judged(argv=("bash", "--noprofile", "--norc")) == ""


def test_writing_inside_and_to_what_is_no_file_does_not_stand_out() -> None:
    for line in ("echo x > sub/../a", f"echo x > {SHOP}/a", "echo x > /dev/stderr", 'echo x > "$OUT"', "cp ../a b"):
        assert judged(line) == "", line
    for line in ("echo x > sub/../../a", f"echo x > {SHOP}-old/a", "cp b ../a", "cp a b ../c"):
        assert judged(line), line


@pytest.mark.case("CMD-03")
def test_a_star_is_never_allowed_for_what_runs_its_words() -> None:
    for runner in RUNNERS:
        for program in runner.head.partition(" ")[0].split(","):
            assert is_open_ended((program,)), program
            assert not grants([program, "*"], f"{program} x"), program
    for words in (("git", "-c"), ("git", "config"), ("git", "push"), ("uv", "run"), ("npx",), ("sudo",), ("make",)):
        assert is_open_ended(words), words
    for words in (("git", "status"), ("ruff", "check"), ("ls",), ("grep",)):
        assert not is_open_ended(words), words


# --- whatever is written, nothing that a real shell runs stays hidden, and nobody is kept busy ---

ODDITIES = [
    *(
        " ",
        "\n",
        "'",
        '"',
        "`",
        "\\",
        "$(",
        ")",
        "(",
        "((",
        "))",
        "}",
        "${x:-",
        "{ ",
        "; }",
        "<<A\n",
        "\nA\n",
        "\tA\n",
        "$'",
    ),
    *(
        "#",
        " # ",
        "a)",
        ";;",
        "[[ ",
        " ]]",
        "; fi",
        "; done",
        "$((",
        "&&",
        "|",
        "\\\n",
        "<",
        "$x",
        "<(",
        "!",
        "=(",
        "<<<",
    ),
    *("&", "\\'", '\\"', "\\`", "*", "[", "~", "{a,b}", "$", "time ", ";", "then ", "do ", "esac", "\r"),
]
CANARY = "rimraf"
MENTIONS = ["a", "b c", f"; {CANARY}", CANARY, f"$({CANARY})", f"it is; {CANARY} x", f"| {CANARY}", "<<A"]


def a_word(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(7 if depth else 4)
    if kind == 0:
        return "'" + rng.choice(MENTIONS).replace("'", "") + "'"
    if kind == 1:
        return '"' + rng.choice(MENTIONS[:4]) + '"'
    if kind == 2:
        return rng.choice(["x", "-f", "\\;", "a\\ b", "${x:-y}", "$((1+2))", "~", "*.none", "HEAD@{1}", "$'a b'"])
    if kind == 3:
        return f"x{rng.randrange(9)}"
    inner = a_script(rng, depth - 1)
    return {4: f"$({inner}\n)", 5: f'"$({inner}\n)"', 6: f"<({inner}\n)"}[kind]


def a_script(rng: random.Random, depth: int) -> str:
    """Return a script as people write them, which mentions the canary more often than it runs it."""
    words = " ".join(a_word(rng, depth) for _ in range(rng.randint(0, 3)))
    simple = f"{CANARY if rng.random() < 0.1 else 'echo'} {words}"
    if not depth:
        return simple
    inner, other = a_script(rng, depth - 1), a_script(rng, depth - 1)
    quote = rng.choice(["'", ""])
    return rng.choice(
        [
            *(
                simple,
                f"{simple}\n{inner}",
                f"{inner}; {simple}",
                f"if false; then\n{inner}\nelse {simple}\nfi",
                f"({inner}\n)",
            ),
            *(
                f"for f in a b; do {inner}\ndone",
                f"case a in b) {simple};; *) {inner}\n;; esac",
                f"{{ {inner}\n}} > /dev/null",
            ),
            *(f"cat <<{quote}A{quote}\n{rng.choice(MENTIONS)}\nA\n{inner}", f"true && {inner}", f"false || {inner}"),
            *(
                f"cat <<-A\n\t{rng.choice(MENTIONS)}\n\tA\n{inner}",
                f"f() {{ {inner}\n}}\n{other}",
                f"{inner} # {rng.choice(MENTIONS)}",
            ),
            *(
                f"[[ -n {rng.choice(['a', '*', '$x'])} ]] && {inner}",
                f"((1)) && {inner}",
                f"x=({words})\n{inner}",
                f"eval '{simple}'",
            ),
        ]
    )


def scripts(seed: int, count: int) -> Iterator[str]:
    """Yield scripts, each second one with something put into it that may turn quotations and commands around."""
    rng = random.Random(seed)
    for number in range(count):
        text = a_script(rng, rng.randint(1, 3))
        for _ in range(number % 2 * rng.randint(1, 2)):
            place = rng.randint(0, len(text))
            text = text[:place] + rng.choice(ODDITIES) + text[place:]
        yield text


@pytest.mark.case("CMD-04")
def test_no_command_that_bash_runs_is_hidden_by_how_it_is_written(tmp_path: Path) -> None:
    """The canary is a program of the table: bash itself says of what does not stand out that it did not run."""
    prelude, empty, records = tmp_path / "prelude", tmp_path / "empty", tmp_path / "records"
    prelude.write_text(f'{CANARY}() {{ echo ran >>"$RECORD"; }}\nexport -f {CANARY}\n')
    empty.mkdir()
    records.mkdir()
    quiet = [text for text in scripts(7, 600) if CANARY in text and not judged(text)]
    for number, text in enumerate(quiet):
        environment = {"PATH": "/usr/bin:/bin", "BASH_ENV": str(prelude), "RECORD": str(records / str(number))}
        subprocess.run(
            ["/bin/bash", "--norc", "--noprofile", "-c", text],
            cwd=empty,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
    assert len(quiet) > 100
    assert [quiet[int(each.name)] for each in records.iterdir()] == []


@pytest.mark.case("CMD-05")
@pytest.mark.parametrize(
    "piece",
    [
        *("env -a ", "env env -x ", "find -exec ", "find . -exec sh -c 'find . ' ", "$(", "`\\`", "((", "$((", "${x:-"),
        *("<<A ", "<<A\n", "a=b; $a ", "xargs -I{} ", "bash -c ", "case a in ", "f() { ", "eval 'eval ", '"$(', "{a,"),
        *(
            "git -a ",
            "docker -x ",
            "timeout 5 ",
            "rm $x ",
            "git push x ",
            "[[ ",
            "'",
            "\\",
            "#\n",
            "> /a ",
            "aws s3 -x ",
        ),
    ],
)
def test_no_command_is_looked_at_longer_than_its_length_deserves(piece: str) -> None:
    """What is counted is calls of functions, ours and built-in ones, and not time."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    text = (piece * limits.COMMAND_READ_CHARS)[: limits.COMMAND_READ_CHARS]
    signs(), runners()
    sys.setprofile(count)
    try:
        judged(text)
    finally:
        sys.setprofile(None)
    assert calls <= 100 * limits.COMMAND_READ_CHARS
