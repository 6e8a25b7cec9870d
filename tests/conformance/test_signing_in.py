"""What the protocol's own authors think of signing in with the whole product: a host, a chat, a person."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.test_conformance import HERE, SUITE, required
from tests.support.real_servers import ROOT, node

pytestmark = pytest.mark.slow

PATIENCE = 100.0
REVISION = "2026-07-28"
SCENARIOS = [
    "auth/authorization-server-migration",
    "auth/basic-cimd",
    "auth/iss-normalized",
    "auth/iss-not-advertised",
    "auth/iss-supported",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-default",
    "auth/metadata-issuer-mismatch",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/offline-access-not-supported",
    "auth/offline-access-scope",
    "auth/pre-registration",
    "auth/resource-mismatch",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
]
# No revision that is scored has it, and servers of that time are still about.
OLDER = ["auth/2025-03-26-oauth-metadata-backcompat"]
# An extension: nobody is there, and the client id and secret are enough.
EXTENSIONS = ["auth/client-credentials-basic"]
# docs/decisions/0070 and 0076 say why: programs that name themselves by a key or are vouched for, other kinds of
# tokens, and places that must be guessed.
NOT_OURS = {
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
}


def suite(*arguments: str) -> str:
    """Run the suite, and return all that it said."""
    command = [node(), str(SUITE / "dist" / "index.js"), *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=variables)
    return done.stdout + done.stderr


def test_every_scenario_of_signing_in_is_tried_or_decided_otherwise() -> None:
    words = suite("list").split()
    every = {word for word in words if word.startswith("auth/")}
    assert every == {*SCENARIOS, *OLDER, *EXTENSIONS, *NOT_OURS}
    for revision in ("2025-11-25", REVISION):
        assert {name for name in required(revision) if name.startswith("auth/")} <= set(SCENARIOS)


@pytest.mark.case("AUT-16")
@pytest.mark.sampled(
    always=(
        "auth/authorization-server-migration",
        "auth/basic-cimd",
        "auth/iss-wrong-issuer",
        "auth/scope-step-up",
        "auth/2025-03-26-oauth-metadata-backcompat",
        "auth/client-credentials-basic",
    )
)
@pytest.mark.parametrize("scenario", [*SCENARIOS, *OLDER, *EXTENSIONS])
def test_signing_in_with_the_whole_product_passes(scenario: str, tmp_path: Path) -> None:
    program = f"{sys.executable} {HERE / 'wired_client.py'}"
    said = suite("client", "--command", program, "--scenario", scenario, "--timeout", "60000", "-o", str(tmp_path))
    assert "OVERALL: PASSED" in said, said[-10_000:]
