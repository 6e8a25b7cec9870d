"""A request as bytes: where it goes, what it says, and what cannot be put into it."""

from __future__ import annotations

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse.net.addresses import Place
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Method
from pilothouse.net.request import request_head, request_headers, target_of

URL = "http://example.org/v1/chat"

# Addresses that are written in many ways; another client makes the same of them.
ORDINARY = [
    "http://h",
    "http://h/",
    "http://h?a=b",
    "http://h/a#f",
    "http://h/a?b#f",
    "http://h/?q=#x",
    "http://h:80/",
    "https://h:443/",
    "http://h:443/",
    "https://h:80/",
    "http://h:8080/a",
    "http://h:/",
    "HTTP://H.Example/A",
    "http://h//a//b",
    "http://h/a b",
    "http://h/?q=a b",
    "http://h/a%20b",
    "http://h/?q=a+b",
    "http://h/100%",
    "http://h/%zz",
    "http://h/%7e~",
    "http://h/%2F",
    "http://h/ä",
    "http://h/?q=ä",
    "http://h/?q=%C3%A4",
    "http://h/?q='\"<>",
    "http://h/'\"<>`{}",
    "http://h/a;b=c:d@e!$&()*+,",
    "http://h/a?b?c=/:@",
    "http://h_h/",
    "http://bücher.example/",
    "http://straße.example/",
    "http://xn--bcher-kva.example/",
    "http://127.0.0.1:11434/api",
    "http://[::1]/",
    "http://[::1]:8080/",
    "http://u:p@h/",
    "http://u@h/",
    "http://:p@h/",
    "http://@h/",
    "http://u%40x:p%3A@h:81/",
    "http://u:p:q@h/",
    "http://ü:ß@h/",
    "http://h/\u2028",
]

INVALID = [
    "",
    "h",
    "//h/",
    "http:/h",
    "http:///x",
    "http://",
    "http://?",
    "ftp://h/",
    "ftp://h:21/",
    "file:///etc/passwd",
    "http://h:0/",
    "http://h:65536/",
    "http://h:-1/",
    "http://h:abc/",
    "http://[::1/",
    "http://[::g]/",
    "http://[fe80::1%25eth0]/",
    "http://a b/",
    "http://h /",
    "http://a\\b/",
    "http://a\u2100b/",
    "http://h%41/",
    "http://" + "a" * 64 + "/",
    "http://..",
    "http://ä..example/",
    "http://a\u200db.example/",
    "http://\ud800/",
    "http://h/\ud800",
    "http://h/?\ud800",
    "http://\ud800@h/",
    "http://h/\r\nx-evil: 1",
    "http://h/ HTTP/1.1\r\nhost: evil\r\n\r\n",
    "http://h/\n",
    "http://h/\t",
    "http://h/\0",
    "http://h/\x7f",
    "http://h\r\n/",
    "\nhttp://h/",
]


def sent(method: Method = "POST", headers: dict[str, str] | None = None, content: bytes | None = b"{}") -> bytes:
    """Return a request as it goes out."""
    target = target_of(URL)
    return request_head(method, target, request_headers(method, target, headers or {}, content)) + (content or b"")


@pytest.mark.parametrize("url", ORDINARY, ids=ascii)
@pytest.mark.slow
def test_an_address_means_what_another_client_takes_it_for(url: str) -> None:
    with httpx2.Client() as client:
        request = client.build_request("GET", url)
        request = next(client._build_request_auth(request).sync_auth_flow(request))
    target = target_of(url)
    assert target.path == request.url.raw_path.decode("ascii")
    assert target.host == request.headers["host"]
    assert target.authorization == request.headers.get("authorization", "")
    assert target.place.scheme == request.url.scheme
    assert target.place.port == (request.url.port or {"http": 80, "https": 443}[request.url.scheme])


@pytest.mark.parametrize("url", INVALID, ids=ascii)
def test_what_is_no_address_is_told(url: str) -> None:
    with pytest.raises(NetError) as caught:
        target_of(url)
    assert (caught.value.problem, caught.value.sent) == ("url", False)
    # Nothing of it is shown.
    assert caught.value.why in (
        "the address or a header is not valid",
        "its host is not a name",
        "its host is not an address",
    )


def test_numbers_that_mean_an_address_are_that_address() -> None:
    assert target_of("http://127.1:80/").place == Place("http", "127.0.0.1", 80)
    assert target_of("http://[0:0::1]:5/").host == "[::1]:5"


def test_an_address_is_shown_without_what_is_secret_in_it() -> None:
    target = target_of("https://user:secret@example.org:8443/a b?q=1#fragment")
    assert target.url == "https://example.org:8443/a%20b?q=1"


def test_a_request_says_whom_it_is_for_and_how_long_it_is() -> None:
    assert sent(headers={"X-Key": "k"}) == (
        b"POST /v1/chat HTTP/1.1\r\nhost: example.org\r\naccept: */*\r\naccept-encoding: identity\r\n"
        b"user-agent: pilothouse\r\nx-key: k\r\ncontent-length: 2\r\n\r\n{}"
    )


@pytest.mark.parametrize(
    ("method", "content", "length"),
    [("GET", None, None), ("DELETE", None, None), ("POST", None, "0"), ("PUT", b"", "0"), ("DELETE", b"abc", "3")],
)
def test_a_length_is_said_where_there_may_be_a_body(method: Method, content: bytes | None, length: str | None) -> None:
    for given_length in ({}, {"Content-Length": "99"}):
        headers = request_headers(method, target_of(URL), given_length, content)
        assert headers.get("content-length") == length


def test_own_headers_come_before_the_usual_ones() -> None:
    headers = request_headers(
        "GET", target_of(URL), {"User-Agent": "me", "HOST": "other", "Accept": "text/plain"}, None
    )
    assert headers == {"host": "other", "accept": "text/plain", "accept-encoding": "identity", "user-agent": "me"}


def test_a_name_and_a_password_in_the_address_come_before_a_key() -> None:
    target = target_of("http://user:secret@h/")
    headers = request_headers("GET", target, {"Authorization": "Bearer key"}, None)
    assert headers["authorization"] == "Basic dXNlcjpzZWNyZXQ="


@pytest.mark.parametrize("name", ["", "x y", "x:y", "x\r\ny", "x\0", "ä", "x\n", "transfer-encoding"])
def test_a_name_that_is_none_for_a_header_is_refused(name: str) -> None:
    with pytest.raises(NetError) as caught:
        sent(headers={name: "v"})
    assert caught.value.problem == "url"


@pytest.mark.parametrize(
    "value", ["a\r\nx-evil: 1", "a\n", "\r", "a\0b", "\x7f", "\x1b[0m", "schlüssel", "“key”", "a\u2028"]
)
def test_a_value_that_would_not_stay_one_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(NetError) as caught:
        sent(headers={"authorization": f"Bearer secret{value}"})
    assert caught.value.problem == "url"
    assert "secret" not in str(caught.value)


@pytest.mark.slow
@given(name=st.text(max_size=8), value=st.text(max_size=8), path=st.text(max_size=8))
def test_nothing_can_be_smuggled_into_a_request(name: str, value: str, path: str) -> None:
    try:
        target = target_of(f"http://h/{path}")
        request = request_head("POST", target, request_headers("POST", target, {name: value}, b"\r\n\r\n"))
    except NetError:
        return
    head, _, rest = request.partition(b"\r\n\r\n")
    assert rest == b""
    first, *lines = head.split(b"\r\n")
    assert len(first.split(b" ")) == 3
    assert len(lines) == 5 + (name.lower() not in ("host", "accept", "user-agent", "content-length"))
    assert b"\n" not in b"".join([first, *lines])
