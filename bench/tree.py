"""A folder of source files as projects have them: the same every time, with words that come back."""

from __future__ import annotations

import random
from pathlib import Path

STEMS = ["con", "per", "ret", "mod", "fil", "ser", "val", "tok", "ind", "sym", "par", "rea", "wri", "loa", "sto", "que"]
ENDS = ["ider", "ment", "ion", "ator", "able", "ing", "set", "box", "list", "map", "tree", "node", "path", "line"]
WORDS = [stem + end for stem in STEMS for end in ENDS]
FILES_IN_FOLDER = 50
# In one file of a hundred stands a name that is looked for.
NEEDLE = "open_harbour_gate"
IGNORE = "*.pyc\n__pycache__/\nbuild/\n/dist\nnode_modules\n*.log\n!keep.log\ndocs/**/out\n"


class Grower:
    """Writes files of a given randomness."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        names = {"_".join(self._random.sample(WORDS, 2)) for _ in range(4_000)}
        self._names = sorted(names)

    def _name(self) -> str:
        """Return a name; few are used often, most seldom."""
        return self._names[min(int(self._random.paretovariate(0.6)) - 1, len(self._names) - 1)]

    def python(self) -> str:
        lines = ["import os", ""]
        for _ in range(self._random.randint(3, 14)):
            one, other = self._name(), self._name()
            lines += [
                f"def {self._name()}({one}, {other}):",
                f'    """Return the {self._random.choice(WORDS)} of a {self._random.choice(WORDS)}."""',
                f"    if {one} is None:",
                f"        return {other}.{self._name()}({self._random.randint(1, 999)})",
                f"    for {self._name()} in {self._name()}({one}):",
                f"        {other} += {self._name()}",
                f"    return {other}",
                "",
            ]
        return "\n".join(lines)

    def typescript(self) -> str:
        lines = []
        for _ in range(self._random.randint(3, 14)):
            one = self._name()
            lines += [
                f"export function {self._name()}({one}: string): number {{",
                f"  const {self._name()} = {self._name()}({one});",
                f"  if ({one} === '{self._random.choice(WORDS)}') return {self._random.randint(0, 99)};",
                f"  return {self._name()}.{self._name()};",
                "}",
                "",
            ]
        return "\n".join(lines)

    def file(self, number: int) -> tuple[str, str]:
        """Return the name and the text of a file."""
        python = number % 2 == 1
        text = self.python() if python else self.typescript()
        if number % 100 == 1:
            text += f"def {NEEDLE}(ship):\n    return ship\n"
        return f"{self._name()}_{number}.{'py' if python else 'ts'}", text


def grow(folder: Path, files: int) -> None:
    """Make the folder."""
    grower = Grower()
    for number in range(files):
        inner = folder / f"part{number // 2_500:02}" / f"module{number // FILES_IN_FOLDER % 50:02}"
        if number % FILES_IN_FOLDER == 0:
            inner.mkdir(parents=True)
        name, text = grower.file(number)
        (inner / name).write_text(text)
    (folder / ".gitignore").write_text(IGNORE)
    (folder / ".git").mkdir()
