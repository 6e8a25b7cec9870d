"""Verbs: what can be asked of a host, each declared once.

A service is a class whose methods are the verbs about one noun. The host implements it; the web server serves what is
declared, a client of a running server sends it, and the OpenAPI document describes it.
"""

from __future__ import annotations

import inspect
from abc import ABC
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import cached_property
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

import msgspec

from pilothouse.types import limits

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
# Where an argument stands in a request; what is spread is a record whose fields stand in the query.
Place = Literal["path", "query", "spread", "body", "upload"]
F = TypeVar("F", bound=Callable[..., object])
S = TypeVar("S", bound="Service")


class Service(ABC):  # noqa: B024 - what is abstract in it are the verbs of its subclasses
    """What can be asked about one noun."""


class Parameter(msgspec.Struct, frozen=True):
    """An argument of a verb."""

    name: str
    place: Place
    kind: Any
    default: Any = msgspec.NODEFAULT

    @property
    def fields(self) -> list[tuple[str, str, Any, Any]]:
        """Return what it is in a query: of each field its name there and here, its type and its default."""
        if self.place != "spread":
            return [(self.name.rstrip("_"), self.name, self.kind, self.default)]
        given = None if self.default is msgspec.NODEFAULT else self.default
        return [
            (info.encode_name, info.name, info.type, info.default if given is None else getattr(given, info.name))
            for info in msgspec.structs.fields(self.kind)
        ]


class Verb:
    """One thing that can be asked: its address, and the method that declares what it takes and gives, in a sentence."""

    def __init__(
        self,
        name: str,
        method: Method,
        path: str,
        function: Callable[..., Any],
        options: Options,
    ) -> None:
        # Its name in the OpenAPI document.
        self.name = name
        self.method: Method = method
        self.path = path
        self.options = options
        self._function = function

    @property
    def attribute(self) -> str:
        """Return the name of its method."""
        return self._function.__name__

    @property
    def place(self) -> int:
        """Return where it stands among the verbs of its service."""
        return self._function.__code__.co_firstlineno

    @property
    def summary(self) -> str:
        """Return what it is for, in a sentence."""
        return " ".join((inspect.getdoc(self._function) or "").partition("\n\n")[0].split())

    @cached_property
    def gives(self) -> Any:
        """Return the type of its answer."""
        return get_type_hints(self._function, include_extras=True)["return"]

    @property
    def is_stream(self) -> bool:
        """Return whether it answers with events, as they happen."""
        return get_origin(self.gives) is AsyncGenerator

    @property
    def status(self) -> int:
        """Return how HTTP says that all is well."""
        return self.options.status or (204 if self.gives is type(None) else 200)

    @cached_property
    def takes(self) -> tuple[Parameter, ...]:
        """Return its arguments, after whose behalf it is asked on: what the path has comes first, in its order."""
        hints = get_type_hints(self._function, include_extras=True)
        declared = list(inspect.signature(self._function).parameters.values())[2:]
        in_path = self.path.count("{")
        return tuple(
            Parameter(
                each.name,
                "path" if index < in_path else _place(each.name, hints[each.name]),
                hints[each.name],
                msgspec.NODEFAULT if each.default is each.empty else each.default,
            )
            for index, each in enumerate(declared)
        )

    @property
    def query(self) -> tuple[Parameter, ...]:
        """Return the arguments that stand in the query."""
        return tuple(each for each in self.takes if each.place in ("query", "spread"))

    @property
    def body(self) -> Parameter | None:
        """Return the argument that is the body."""
        return next((each for each in self.takes if each.place in ("body", "upload")), None)

    @property
    def has_key(self) -> bool:
        """Return whether a request carries a key by which the same one is known when it comes again."""
        body = self.body
        return self.options.repeatable and body is not None and "idempotency_key" in body.kind.__struct_fields__

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arguments of a call in the order in which they are declared, from whose behalf it is on."""
        call = inspect.signature(self._function).bind(None, *args, **kwargs)
        call.apply_defaults()
        return list(call.arguments.values())[1:]


class Options(msgspec.Struct, frozen=True):
    """What is particular about a verb."""

    # How HTTP says that it was done, where that is not the usual way.
    status: int = 0
    body_limit: int = limits.BODY_BYTES
    # Its work is worth nothing to anyone once its client has gone.
    stops_with_client: bool = False
    # How long its answer may take, beyond the time of any other.
    longer: float = 0.0
    # It may be asked twice: by its key the second is known to be the first, or only the first counts.
    repeatable: bool = False


_PLAIN = Options()


def verb(name: str, method: Method, path: str, options: Options = _PLAIN) -> Callable[[F], F]:
    """Declare a verb by its name in the API and its address; the method's signature and first sentence say the rest.

    Its arguments after the owner are those of the path, in its order; then `body`, if it has one; all others stand in
    the query, by their names. A record there stands for its fields, and an underscore after a name for a word that
    Python needs.
    """

    def declare(function: F) -> F:
        function.verb = Verb(name, method, path, function, options)  # type: ignore[attr-defined]
        function.__isabstractmethod__ = True  # type: ignore[attr-defined]
        return function

    return declare


def verbs_of(service: type[Service]) -> list[Verb]:
    """Return the verbs of a service, in the order in which they are declared."""
    found = (getattr(getattr(service, name), "verb", None) for name in dir(service))
    return sorted((each for each in found if each is not None), key=lambda each: each.place)


def realised(service: type[S], method_of: Callable[[Verb], Callable[..., Any]], **own: Callable[..., Any]) -> S:
    """Return a service whose verbs are carried out by what is made for each, save those that are given by name."""
    made = {each.attribute: method_of(each) for each in verbs_of(service)}
    methods = {name: staticmethod(method) for name, method in {**made, **own}.items()}
    made_of: type[S] = type(f"Realised{service.__name__}", (service,), methods)
    return made_of()


def _place(name: str, kind: Any) -> Place:
    if name == "body":
        return "upload" if get_origin(kind) is AsyncIterator else "body"
    return "spread" if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else "query"
