"""Where a model's key comes from, and that it goes only where it was given for.

A key in the environment or in the file itself is bound to an origin the first time a model shows it
together with an address; a stored secret is bound by its store. The rules, and why, are in
docs/decisions/0009-keys-are-bound-to-their-origin.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping

import msgspec

from pilothouse.models.provider_table import belongs, is_at, row_of, signs_at, source_in
from pilothouse.models.providers import LOCAL, address_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.models import SIGNING, KeyKind, KeyState, ModelConfig
from pilothouse.types.origins import is_loopback, origin_of
from pilothouse.types.ports import JsonStore, Secrets

# For each model id: the key sources seen with it, and the origin each is bound to.
Bindings = dict[str, dict[str, str]]

_WHAT = {"aws": "What signs for AWS", "google": "What signs in at Google", "copilot": "The sign-in to GitHub Copilot"}
LITERAL_PROBLEM = "The key stands in models.json as plain text; type it in Settings to keep it as a secret."


class KeySource(msgspec.Struct, frozen=True):
    """An `apiKeySource`, read."""

    kind: KeyKind
    name: str = ""
    literal: str = ""

    @property
    def shown(self) -> str:
        """Return it as it may be shown: never with a literal key in it."""
        if self.kind in ("literal", *SIGNING) and not self.name:
            return self.kind
        return f"{self.kind}:{self.name}" if self.name else ""

    @property
    def label(self) -> str:
        """Return the name under which its binding is kept; of a literal key only a fingerprint."""
        return f"{self.kind}:{hashlib.sha256(self.literal.encode()).hexdigest()[:12] if self.literal else self.name}"


def read_source(text: str) -> KeySource:
    """Return what an `apiKeySource` says; the prefixes are understood in any case."""
    text = text.strip()
    prefix, colon, name = text.partition(":")
    match prefix.lower():
        case "env" | "secret" as kind if colon:
            return KeySource(kind, name.strip())
        # A profile, or a file, may follow.
        case "aws" | "google" | "copilot" as kind:
            return KeySource(kind, name.strip())
    return KeySource("literal", literal=text) if text else KeySource("none")


def parse_bindings(raw: JsonObject) -> Bindings:
    """Return the content of `bindings.json`."""
    return convert(raw, Bindings)


class Keys:
    """Resolves the keys of models, each only for the origin it belongs to."""

    def __init__(
        self,
        secrets: Secrets,
        bindings: JsonStore[Bindings],
        *,
        learn: Callable[[str], None] = lambda value: None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._secrets = secrets
        self._bindings = bindings
        self._learn = learn
        self._environ = environ

    def see(self, models: Iterable[ModelConfig]) -> None:
        """Bind each key that is seen for the first time, where that is safe, and learn what to hide."""
        bindings = self._bindings.value
        fresh: list[tuple[str, str, str]] = []
        for config in models:
            source, origin = read_source(config.api_key_source), _origin(config)
            named = self._environ.get(source.name, "") if source.kind == "env" else ""
            for value in (source.literal, named, *config.headers.values()):
                self._learn(value)
            if source.kind in ("none", "secret") or not origin or source.label in bindings.get(config.id, {}):
                continue
            if self._may_bind(source, origin):
                fresh.append((config.id, source.label, origin))
        if fresh:
            # On a full disk the models are still listed; what could not be bound waits for a person's word.
            with contextlib.suppress(PilothouseError):
                self._bindings.update(lambda raw: _set_all(raw, fresh))

    def bind(self, config: ModelConfig) -> None:
        """Bind a model's key to the model's origin, because the person gave or confirmed them together."""
        source, origin = read_source(config.api_key_source), _origin(config)
        if not origin:
            return
        if source.kind == "secret":
            self._secrets.confirm(source.name, origin)
        elif source.kind != "none":
            self._bindings.update(lambda raw: _set_all(raw, [(config.id, source.label, origin)]))

    def forget(self, model_id: str) -> None:
        """Forget what a model's keys were bound to."""
        if model_id in self._bindings.value:
            self._bindings.update(lambda raw: raw.pop(model_id, None))

    def resolve(self, config: ModelConfig, *, given: bool = False) -> str:
        """Return the key, empty for none or an unset variable; raise `key_moved` if it belongs elsewhere.

        `given` says that the person has just given key and address together, so no binding is asked.
        """
        source, origin = read_source(config.api_key_source), _origin(config)
        if source.kind == "none" or config.provider in LOCAL:
            return ""
        if source.kind == "secret":
            key = self._secrets.get(source.name, origin) or ""
        else:
            signs = source.kind in SIGNING
            key = "" if signs else source.literal or self._environ.get(source.name, "")
            if (key or signs) and not given and (moved := self._moved(config, source)):
                raise PilothouseError("key_moved", moved, fix="Confirm it in Settings, Models, or change it back.")
        self._learn(key)
        return key

    def usual(self, config: ModelConfig) -> str:
        """Return the key source that the environment has for a model at its provider's own address; empty for none."""
        row = row_of(config)
        return source_in(row, self._environ) if row is not None and is_at(row, _origin(config)) else ""

    def state(self, config: ModelConfig) -> KeyState:
        """Return where the key comes from and what is wrong with it, without opening any store."""
        source = read_source(config.api_key_source)
        if source.kind == "none" or config.provider in LOCAL:
            return KeyState(kind="none")
        try:
            present, problem = self._presence(source)
            moved = self._moved(config, source) if present else ""
        except PilothouseError as error:
            return KeyState(kind=source.kind, name=source.name, problem=str(error))
        return KeyState(
            kind=source.kind, name=source.name, present=present, problem=moved or problem, moved=bool(moved)
        )

    def _presence(self, source: KeySource) -> tuple[bool, str]:
        match source.kind:
            case "env":
                present = bool(self._environ.get(source.name))
                return present, "" if present else f"The environment variable {source.name} is not set."
            case "secret":
                present = self._secrets.origin_of(source.name) is not None
                return present, "" if present else f"No key is stored under “{source.name}”; type it again."
            case "aws" | "google" | "copilot":
                # Whether they are good is found out when a request is signed.
                return True, ""
        return True, LITERAL_PROBLEM

    def _moved(self, config: ModelConfig, source: KeySource) -> str:
        """Return one sentence when the key is bound to another origin than the model's, else nothing."""
        origin = _origin(config)
        if source.kind == "secret":
            bound = self._secrets.origin_of(source.name)
        else:
            bound = self._bindings.value.get(config.id, {}).get(source.label)
        if bound == origin:
            return ""
        what = _WHAT.get(source.kind, "The key")
        if source.kind == "env":
            what = f"The key in {source.name}"
        if bound is None:
            return f"{what} has not been confirmed for {origin}; it is not sent there yet."
        return f"{what} was given for {bound}; it is not sent to {origin} until you confirm that."

    def _may_bind(self, source: KeySource, origin: str) -> bool:
        """Return whether a key may be bound to an origin that only a file says."""
        if self._bindings.problem is not None:
            return False
        if is_loopback(origin) or source.kind == "literal":
            return True
        if source.kind in SIGNING:
            return signs_at(source.kind, origin)
        if (known := belongs(source.name, origin)) is not None:
            return known
        # Another model may use the same key at the same place; a new place for a known key is a question.
        elsewhere = {each[source.label] for each in self._bindings.value.values() if source.label in each}
        return not {place for place in elsewhere if not is_loopback(place)} - {origin}


def _origin(config: ModelConfig) -> str:
    return "" if config.provider in LOCAL else origin_of(address_of(config))


def _set_all(raw: JsonObject, entries: Iterable[tuple[str, str, str]]) -> None:
    for model_id, label, origin in entries:
        raw.setdefault(model_id, {})[label] = origin
