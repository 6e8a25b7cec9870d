"""One rule for a NUL in a text, on both databases.

In what people, models and tools say it is kept: that is JSON, which writes it as an escape. A title, a name, a key or
an id stands in a column of text, where PostgreSQL takes none and SQLite does; there, it becomes a space on its way in,
also when something is looked for. So no row has one, and an id with one is nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NUL, INSTEAD = "\x00", " "


def cleaned(text: str) -> str:
    """Return a text as it can stand in a column."""
    return text.replace(NUL, INSTEAD) if NUL in text else text


def cleaned_values(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return what a statement is given, as it can stand in columns."""
    for value in values.values():
        if (type(value) is str and NUL in value) or type(value) is list:
            return {name: _cleaned_value(each) for name, each in values.items()}
    return values


def _cleaned_value(value: object) -> object:
    if isinstance(value, str):
        return cleaned(value)
    # Such as the ids of several rows.
    return [_cleaned_value(each) for each in value] if isinstance(value, list) else value


def clean_parameters(
    _connection: object, _cursor: object, statement: str, parameters: Any, _context: object, _many: bool
) -> tuple[str, Any]:
    """Do the same to what SQLAlchemy gives to a driver, in whichever form it does."""
    return statement, _cleaned(parameters)


def _cleaned(parameters: Any) -> Any:
    if isinstance(parameters, str):
        return cleaned(parameters)
    if isinstance(parameters, Mapping):
        return cleaned_values(parameters)
    if isinstance(parameters, list | tuple):
        return type(parameters)(map(_cleaned, parameters))
    return parameters
