"""The rows of the route table that are about models."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
from pilothouse.types import limits
from pilothouse.types.api import Catalogue, FoundModels, ModelInput
from pilothouse.types.models import ModelList, ModelTest, ModelView


class FoundQuery(msgspec.Struct, frozen=True):
    """Where to look: on this machine, or on a host that a person named."""

    host: Annotated[str, Meta(max_length=limits.HOST_CHARS)] = ""


async def list_models(call: Call[None, NoQuery]) -> ModelList:
    """List them."""
    return await call.host.models(call.owner)


async def add_model(call: Call[ModelInput, NoQuery]) -> ModelView:
    """Add one."""
    return await call.host.add_model(call.owner, call.body)


async def update_model(call: Call[ModelInput, NoQuery]) -> ModelView:
    """Replace one's configuration."""
    return await call.host.update_model(call.owner, call.id, call.body)


async def delete_model(call: Call[None, NoQuery]) -> None:
    """Remove one."""
    await call.host.delete_model(call.owner, call.id)


async def set_default_model(call: Call[None, NoQuery]) -> ModelList:
    """Make one the default."""
    return await call.host.set_default_model(call.owner, call.id)


async def test_model(call: Call[None, NoQuery]) -> ModelTest:
    """Try one."""
    return await call.host.test_model(call.owner, call.id)


async def test_draft(call: Call[ModelInput, NoQuery]) -> ModelTest:
    """Try one that is not saved."""
    return await call.host.test_draft(call.owner, call.body)


async def confirm_key(call: Call[None, NoQuery]) -> ModelView:
    """Bind a key to the model's present origin."""
    return await call.host.confirm_key(call.owner, call.id)


async def found_models(call: Call[None, FoundQuery]) -> FoundModels:
    """Look for what could be added."""
    return await call.host.found_models(call.owner, call.query.host)


async def get_catalogue(call: Call[None, NoQuery]) -> Catalogue:
    """Return what the providers offer, as last asked."""
    return await call.host.catalogue(call.owner)


async def refresh_catalogue(call: Call[None, NoQuery]) -> Catalogue:
    """Ask the providers again."""
    return await call.host.refresh_catalogue(call.owner)


# The fixed paths come before `{id}`: the first match wins.
MODEL_ROUTES: tuple[AnyRoute, ...] = (
    Route(method="GET", path="/api/models", handler=list_models, reply=ModelList, summary="All models."),
    Route(
        method="POST",
        path="/api/models",
        handler=add_model,
        body=ModelInput,
        reply=ModelView,
        status=201,
        summary="Add a model.",
    ),
    Route(
        method="POST",
        path="/api/models/test",
        handler=test_draft,
        body=ModelInput,
        reply=ModelTest,
        summary="Make a real, tiny request to a model that is not saved yet.",
    ),
    Route(
        method="GET",
        path="/api/models/found",
        handler=found_models,
        query=FoundQuery,
        reply=FoundModels,
        summary="Model servers on this machine and keys in the environment that could be added; or those of one host.",
    ),
    Route(
        method="GET",
        path="/api/models/catalogue",
        handler=get_catalogue,
        reply=Catalogue,
        summary="What the configured providers offer, as last asked.",
    ),
    Route(
        method="POST",
        path="/api/models/refresh",
        handler=refresh_catalogue,
        reply=Catalogue,
        summary="Ask the configured providers what they offer.",
    ),
    Route(
        method="PUT",
        path="/api/models/{id}",
        handler=update_model,
        body=ModelInput,
        reply=ModelView,
        summary="Replace a model's configuration; without apiKey its key stays.",
    ),
    Route(
        method="DELETE",
        path="/api/models/{id}",
        handler=delete_model,
        status=204,
        kind="empty",
        summary="Remove a model.",
    ),
    Route(
        method="POST",
        path="/api/models/{id}/default",
        handler=set_default_model,
        reply=ModelList,
        summary="Make a model the default.",
    ),
    Route(
        method="POST",
        path="/api/models/{id}/test",
        handler=test_model,
        reply=ModelTest,
        summary="Make a real, tiny request to a model.",
    ),
    Route(
        method="POST",
        path="/api/models/{id}/confirm-key",
        handler=confirm_key,
        reply=ModelView,
        summary="Let a model's key go to the origin that its URL has now.",
    ),
)
