"""The catalogue of models as the product puts it together, on a data folder of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.models.factory import make_model
from pilothouse.models.keys import Bindings, Keys, parse_bindings
from pilothouse.models.models_file import ModelsFile, embedded_only, first_models, has_no_models, parse_models
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.home import open_home
from pilothouse.settings.json_file import JsonFile


class Parts(msgspec.Struct):
    """What a test may look at."""

    models: ModelCatalogue
    file: JsonFile[ModelsFile]
    secrets: SecretStore
    redactor: Redactor


def open_catalogue(home: Path, environ: Mapping[str, str]) -> Parts:
    """Open the data folder as a start of the product does."""
    place = open_home(home)
    redactor = Redactor()
    secrets = SecretStore(place.secrets, learn=redactor.learn, find=lambda: None, environ=environ)
    bindings: JsonFile[Bindings] = JsonFile(
        place.secrets / "bindings.json", parse_bindings, dict, is_empty=lambda raw: False
    )
    file = JsonFile(
        place.models_file,
        parse_models,
        first_models(place.path, secrets, environ),
        fallback=embedded_only,
        is_empty=has_no_models,
        backup=place.cache / "last-good-models.json",
    )
    keys = Keys(secrets, bindings, learn=redactor.learn, environ=environ)
    return Parts(ModelCatalogue(file, secrets, keys, make_model), file, secrets, redactor)
