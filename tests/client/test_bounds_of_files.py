"""A file that a client sends is bounded by what its verb takes, and the sentence fits what was sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse.connection import connect_host
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_documents import Where
from tests.support.servers import Server


@pytest.mark.slow
async def test_a_document_without_end_is_refused_at_the_bound_of_documents(home: Path) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1024**2
            yield bytes(1024**2)

    with Server(home):
        async with connect_host(home) as api:
            with pytest.raises(PilothouseError) as refused:
                await api.documents.upload(LOCAL_OWNER, endless(), "zero", Where(scope="everywhere"))
    assert refused.value.message == "A file has at most 64 MiB."
    assert refused.value.code == "too_large"
    assert sent <= limits.DOCUMENT_BYTES + 1024**2
