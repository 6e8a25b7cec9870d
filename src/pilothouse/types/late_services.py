"""Services as attributes, each made and its declaration loaded when someone asks about its noun."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol

from pilothouse.types.verbs import Service, Verb, realised

# Makes the method that carries a verb out.
MethodOf = Callable[[Verb], Callable[..., Any]]


class AsksLate(Protocol):
    """Who has services of that kind."""

    def method_of(self, noun: str) -> MethodOf:
        """Return what makes the methods of a noun's service."""


class LateService(cached_property[Any]):
    """A noun's service as an attribute: declared by its name in a module of `types`, made at the first look."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(self._make)
        self._module = module
        self._name = name

    def declaration(self) -> type[Service]:
        """Return the class that declares its verbs."""
        declared: type[Service] = getattr(import_module(f"pilothouse.types.{self._module}"), self._name)
        return declared

    def _make(self, host: AsksLate) -> Service:
        return realised(self.declaration(), host.method_of(self.attrname or ""))


def late(module: str, name: str) -> Any:
    """Return a `LateService` that stands for what its annotation says."""
    return LateService(module, name)
