"""Signatures are what AWS publishes for its own test requests (Signature Version 4 test suite)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pilothouse.models.aws import Credentials, Scope, sign
from pilothouse.models.signing import Outgoing

NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
SCOPE = Scope("us-east-1", "service")
ACCESS, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
HOST = "https://example.amazonaws.com"
SHORT = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"

# Name in the suite, the request, the session token, and the published signature.
PUBLISHED = [
    (
        "get-vanilla",
        Outgoing("GET", HOST + "/", {}),
        "",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    (
        "get-space",
        Outgoing("GET", HOST + "/example space/", {}),
        "",
        "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
    ),
    (
        "get-utf8",
        Outgoing("GET", HOST + "/ሴ", {}),
        "",
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
    ),
    (
        "get-vanilla-with-session-token",
        Outgoing("GET", HOST + "/", {}),
        SHORT,
        "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
    ),
    (
        "post-x-www-form-urlencoded",
        Outgoing(
            "POST",
            HOST + "/",
            {
                "Content-Type": "application/x-www-form-urlencoded",
                "Content-Length": "13",
                "X-Amz-Content-Sha256": "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
            },
            b"Param1=value1",
        ),
        "",
        "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b",
    ),
]


@pytest.mark.parametrize(("name", "request_", "token", "signature"), PUBLISHED, ids=[each[0] for each in PUBLISHED])
def test_a_request_is_signed_as_aws_publishes_it(name: str, request_: Outgoing, token: str, signature: str) -> None:
    headers = sign(request_, Credentials(ACCESS, SECRET, token), SCOPE, NOW)
    proof = headers["authorization"]
    assert proof.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ")
    assert proof.endswith(f"Signature={signature}"), name
    assert SECRET not in repr(headers)


def test_what_a_proxy_may_change_is_not_signed_and_an_old_proof_is_replaced() -> None:
    plain = sign(Outgoing("GET", HOST + "/", {}), Credentials(ACCESS, SECRET), SCOPE, NOW)
    more = {"User-Agent": "pilothouse", "Authorization": "Bearer old", "Connection": "keep-alive"}
    again = sign(Outgoing("GET", HOST + "/", more), Credentials(ACCESS, SECRET), SCOPE, NOW)
    assert again["authorization"] == plain["authorization"]
