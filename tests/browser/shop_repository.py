"""A small real repository with a bug in it, and the script of a model that finds and mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.repositories import make_repository

PRICES = '''"""What things cost."""


def total(items):
    """Return what all items cost together, each a price and a count."""
    return sum(price for price, count in items)
'''
REPORT = '''"""What a customer reads."""

from shop.prices import total


def line(items):
    return f"Sum: {total(items)}"
'''
TESTS = """import unittest

from shop.prices import total
from shop.report import line


class Prices(unittest.TestCase):
    def test_counts_matter(self):
        self.assertEqual(total([(3, 2), (5, 1)]), 11)

    def test_the_report_says_total(self):
        self.assertEqual(line([(2, 2)]), "Total: 4")
"""
COMMAND = "python3 -m unittest -q"


def make_shop(folder: Path) -> Path:
    """Make it, with everything committed."""
    files = {"shop/__init__.py": "", "shop/prices.py": PRICES, "shop/report.py": REPORT, "test_shop.py": TESTS}
    return make_repository(folder, {**files, ".gitignore": "__pycache__/\n"}, message="A shop")


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    """A step of a script: the model works on files."""
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


def replace(path: str, old: str, new: str) -> dict[str, Any]:
    """A step of a script: the model edits a file."""
    return files("replace_string", filePath=path, oldString=old, newString=new)


def mending() -> list[Any]:
    """Return the turns of a model that searches, reads, edits two files, tests, mends its mistake, and commits."""
    run_tests = {"call": "terminal_operations", "arguments": {"operation": "run_command", "command": COMMAND}}
    commit = {"operation": "git_commit", "message": "Counts matter", "files": ["shop/prices.py", "shop/report.py"]}
    return [
        ["I look for the sum first.", files("grep_search", query="def total")],
        [files("read_file", filePath="shop/prices.py"), files("read_file", filePath="shop/report.py")],
        [
            "Both files need a change.",
            replace("shop/prices.py", "price for price, count", "price + count for price, count"),
            replace("shop/report.py", "Sum:", "Total:"),
        ],
        [run_tests],
        ["The count must multiply.", replace("shop/prices.py", "price + count for", "price * count for")],
        [run_tests],
        [{"call": "build_and_version_control", "arguments": commit}],
        "The sum counts now, the report says Total, and it is committed.",
    ]
