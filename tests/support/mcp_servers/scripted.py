"""An MCP server over stdio that does as its arguments say, with nothing but the standard library.

`scripted.py [--option value | --option=value …]`, in a process of its own:

    --tools FILE        the tools as JSON; read anew at every tools/list
    --about FILE        what it says about itself as JSON: instructions, and more of its serverInfo; read at each start
    --record FILE       append every message that arrives, one line each
    --access-token TEXT as the servers of others take one; it is for nothing
    --start MODE        silent: answers nothing; exit: ends with --code; rubbish: prints what is no protocol;
                        probe-exit: ends when it meets a method it does not know
    --code N            the exit code
    --say TEXT          a line on standard error at the start
    --delay SECONDS     before the first answer
    --list-delay SECONDS  before each list of tools
    --version V         the protocol version it answers with
    --era modern        speaks 2026-07-28 only
    --pushes KIT        speaks both eras and asks by itself, which the modern one refuses in the words of this kit:
                        fastmcp, sdk or node
    --refuses METHOD    does not know this method
    --ignores METHOD    never answers this method
    --ignore-term       ignores SIGTERM and the end of its input
    --spawn             starts a child that leaves its process group, and says its pid on standard error

Its tools (unless --tools says otherwise): echo(text), sleep(seconds, until): begins once that file is there,
fail(message), big(bytes), exit(code),
raw(line): writes this line, or what stands in `file`, instead of an answer ($ID is the call's id, $BAD is no UTF-8,
$GIANT is three million letters), progress(steps, seconds, until): goes on after half of them once that file is there,
ask(schema): elicits, image(), pid(),
env(): the names of its variables, deaf(): stops reading, flood(megabytes): writes on standard error, count(): how often
it was called. Not listed by itself: late(text, seconds): answers after that time, whatever it is told meanwhile.

The tests start it thousands of times, so it imports little: `json` and `threading` would take as long as the whole
start, and what few of its options need is imported where it is used.
"""

from __future__ import annotations

import os
import sys
import time
from _json import encode_basestring_ascii, make_encoder, make_scanner
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from typing import Any

ANY = {"type": "object"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NAMES = (
    *("sleep", "fail", "big", "exit", "raw", "progress", "ask", "image"),
    *("pid", "env", "deaf", "flood", "count", "link", "structured"),
)
MODERN = "2026-07-28"
CANNOT_PUSH = {
    "fastmcp": "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.",
    "sdk": "Cannot send 'elicitation/create': this transport context has no back-channel for "
    "server-initiated requests.",
    "node": "Server-to-client requests are not available on protocol revision 2026-07-28: 'elicitation/create' cannot "
    "be sent while serving a request on that revision. Return inputRequired({ ... }) from the handler instead.",
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Reading:
    """What the parser of `json` is told by its decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_int, parse_float, parse_constant = int, float, float


_told: Any = Reading()
_scan = make_scanner(_told)
_encode = make_encoder(None, repr, encode_basestring_ascii, None, ": ", ", ", False, False, True)


def loads(text: str) -> Any:
    """Return what JSON says."""
    return _scan(text.strip(), 0)[0]


def dumps(value: object) -> str:
    """Return something as JSON."""
    return "".join(_encode(value, 0))


class Options:
    """What its arguments say; each has the type of its default."""

    access_token = about = era = ignores = pushes = record = refuses = say = start = tools = version = wants = ""
    code = 0
    delay = list_delay = 0.0
    ignore_term = spawn = deaf = False

    def __init__(self, arguments: list[str]) -> None:
        left = iter(arguments)
        for argument in left:
            option, has_value, value = argument.removeprefix("--").partition("=")
            name = option.replace("-", "_")
            default = getattr(Options, name)
            setattr(self, name, True if default is False else type(default)(value if has_value else next(left)))


class Server:
    """The server's state and its answers."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.lock = allocate_lock()
        self.cancelled: set[object] = set()
        self.answers: dict[object, Any] = {}
        # Each is locked until its answer is there.
        self.waiting: dict[object, LockType] = {}
        self.calls = 0
        self.asked = 0

    def write(self, message: object) -> None:
        self.line(dumps({"jsonrpc": "2.0", **message}) if isinstance(message, dict) else dumps(message))

    def line(self, text: str) -> None:
        with self.lock:
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape") + b"\n")
            sys.stdout.buffer.flush()

    def take(self, message: dict[str, Any]) -> None:
        if self.options.record:
            with open(self.options.record, "a", encoding="utf-8") as file:
                file.write(dumps(message) + "\n")
        method, number = message.get("method"), message.get("id")
        if method is None:
            self.answers[number] = message
            if number in self.waiting:
                self.waiting.pop(number).release()
        elif method == "notifications/cancelled":
            self.cancelled.add(message["params"]["requestId"])
        elif number is not None:
            params = message.get("params") or {}
            # Here, so that nothing more is read: whoever answers does not keep the reader waiting.
            self.options.deaf |= params.get("name") == "deaf"
            start_new_thread(self.reply, (number, method, params))

    def reply(self, number: object, method: str, params: dict[str, Any]) -> None:
        modern = self.modern(method, params)
        if method in (self.options.refuses, self.options.ignores):
            self.refuse(number, method)
        elif method == "server/discover" and modern:
            words, info = self.about()
            meta = {"io.modelcontextprotocol/serverInfo": info}
            found = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "_meta": meta, **words}
            self.write({"id": number, "result": {"resultType": "complete", **found}})
        elif method == "initialize" and not modern:
            version = self.options.version or params.get("protocolVersion")
            words, info = self.about({"instructions": "Use these tools."})
            capabilities = {"tools": {"listChanged": True}, "logging": {}}
            self.write({"id": number, "result": {"protocolVersion": version, "capabilities": capabilities,
                                                 "serverInfo": info, **words}})  # fmt: skip
        elif method == "ping" and not modern:
            self.write({"id": number, "result": {}})
        elif method == "tools/list":
            time.sleep(self.options.list_delay)
            self.write({"id": number, "result": {"tools": self.tools()}})
        elif method == "tools/call":
            self.call(number, params)
        elif self.options.start == "probe-exit":
            os._exit(9)
        else:
            self.write({"id": number, "error": {"code": -32601, "message": "Method not found"}})

    def about(self, words: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what it says to models, and who it says it is."""
        said = loads(_content(self.options.about)) if self.options.about else words or {}
        info = {key: value for key, value in said.items() if key != "instructions"}
        words = {key: said[key] for key in said if key == "instructions"}
        return words, {"name": "scripted", "version": "1.0", **info}

    def modern(self, method: str, params: dict[str, Any]) -> bool:
        """Return whether a request is one of the modern era."""
        if self.options.pushes:
            return "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
        return bool(self.options.era == "modern")

    def refuse(self, number: object, method: str) -> None:
        if method == self.options.refuses:
            self.write({"id": number, "error": {"code": -32601, "message": "Method not found"}})

    def tools(self) -> list[Any]:
        if self.options.tools:
            return list(loads(_content(self.options.tools)))
        plain = [{"name": name, "description": f"Does {name}.", "inputSchema": ANY} for name in NAMES]
        echo = {"name": "echo", "description": "Gives back what it is given.", "inputSchema": TEXT}
        return [{**echo, "annotations": {"readOnlyHint": True}}, *plain]

    def call(self, number: object, params: dict[str, Any]) -> None:
        self.calls += 1
        handler = getattr(self, f"do_{params['name']}", None)
        if handler is None:
            self.write({"id": number, "error": {"code": -32602, "message": f"Unknown tool: {params['name']}"}})
            return
        result = handler(number, params)
        if isinstance(result, str):
            result = {"content": [{"type": "text", "text": result}]}
        if result is not None and number not in self.cancelled:
            if self.modern("tools/call", params):
                result = {"resultType": "complete", **result}
            self.write({"id": number, "result": result})

    def hold(self, number: object, until: str | None) -> None:
        """Wait until a file is there, or the call is cancelled."""
        while until and not os.path.exists(until) and number not in self.cancelled:
            time.sleep(0.01)

    # --- tools ---

    def do_echo(self, number: object, params: dict[str, Any]) -> str:
        return str(params["arguments"]["text"])

    def do_sleep(self, number: object, params: dict[str, Any]) -> str:
        self.hold(number, params["arguments"].get("until"))
        end = time.monotonic() + float(params["arguments"].get("seconds", 3600))
        while time.monotonic() < end and number not in self.cancelled:
            time.sleep(0.01)
        return "awake"

    def do_late(self, number: object, params: dict[str, Any]) -> None:
        time.sleep(float(params["arguments"]["seconds"]))
        said = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
        self.write({"id": number, "result": {"resultType": "complete", **said}})

    def do_fail(self, number: object, params: dict[str, Any]) -> dict[str, Any]:
        message = params["arguments"].get("message", "It went wrong.")
        return {"content": [{"type": "text", "text": message}], "isError": True}

    def do_big(self, number: object, params: dict[str, Any]) -> str:
        return "x" * int(params["arguments"]["bytes"])

    def do_exit(self, number: object, params: dict[str, Any]) -> None:
        code = int(params["arguments"].get("code", 1))
        os.kill(os.getpid(), 9) if code < 0 else os._exit(code)

    def do_raw(self, number: object, params: dict[str, Any]) -> None:
        given = params["arguments"]
        text = _content(given["file"]) if "file" in given else str(given["line"])
        line = text.replace("$ID", dumps(number))
        self.line(line.replace("$BAD", "\udcff\udcfe").replace("$GIANT", "x" * 3_000_000))

    def do_progress(self, number: object, params: dict[str, Any]) -> str:
        steps, token = int(params["arguments"]["steps"]), params.get("_meta", {}).get("progressToken")
        for step in range(steps):
            told = {"progressToken": token, "progress": step + 1, "total": steps, "message": f"step {step + 1}"}
            self.write({"method": "notifications/progress", "params": told})
            time.sleep(float(params["arguments"].get("seconds", 0)))
            if step + 1 == steps // 2:
                self.hold(number, params["arguments"].get("until"))
        return f"{steps} steps"

    def do_ask(self, number: object, params: dict[str, Any]) -> str | dict[str, Any] | None:
        modern = self.modern("tools/call", params)
        if modern and self.options.pushes == "sdk":
            self.write({"id": number, "error": {"code": -32600, "message": CANNOT_PUSH["sdk"]}})
            return None
        if modern and self.options.pushes:
            return {"content": [{"type": "text", "text": CANNOT_PUSH[self.options.pushes]}], "isError": True}
        schema = params["arguments"].get("schema") or {
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}  # fmt: skip
        message = params["arguments"].get("message", "What is your name?")
        question = {"mode": "form", "message": message, "requestedSchema": schema}
        if params["arguments"].get("url"):
            question = {"mode": "url", "message": "Please sign in.", "url": params["arguments"]["url"]}
            question["elicitationId"] = "e1"
        if modern:
            responses = params.get("inputResponses")
            if not responses:
                wanted = {"who": {"method": "elicitation/create", "params": question}}
                self.write({"id": number, "result": {
                    "resultType": "input_required", "inputRequests": wanted, "requestState": "s1"}})  # fmt: skip
                return None
            return f"{responses['who']} {params.get('requestState')}"
        self.asked += 1
        name = f"ask-{self.asked}"
        answered = self.waiting[name] = allocate_lock()
        answered.acquire()
        self.write({"id": name, "method": "elicitation/create", "params": question})
        answered.acquire(timeout=60)
        return dumps(self.answers.get(name, {}).get("result"))

    def do_image(self, number: object, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "A pixel."},
                            {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}  # fmt: skip

    def do_link(self, number: object, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": [
            {"type": "resource_link", "uri": "https://example.com/report", "name": "report"},
            {"type": "resource", "resource": {"uri": "file:///notes.txt", "text": "Notes.", "mimeType": "text/plain"}},
        ]}  # fmt: skip

    def do_structured(self, number: object, params: dict[str, Any]) -> dict[str, Any]:
        data = {"city": "Bergen", "days": [{"rain": True}, {"rain": False}]}
        return {"content": [{"type": "text", "text": dumps(data)}], "structuredContent": data}

    def do_pid(self, number: object, params: dict[str, Any]) -> str:
        return str(os.getpid())

    def do_env(self, number: object, params: dict[str, Any]) -> str:
        return dumps(dict(os.environ))

    def do_deaf(self, number: object, params: dict[str, Any]) -> str:
        return "deaf"

    def do_flood(self, number: object, params: dict[str, Any]) -> str:
        block = (b"x" * 1023 + b"\n") * 1024
        for _ in range(int(params["arguments"]["megabytes"])):
            sys.stderr.buffer.write(block)
        return "flooded"

    def do_count(self, number: object, params: dict[str, Any]) -> str:
        return str(self.calls)


def _content(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def begin(options: Options) -> None:
    """Do what is to be done before the first message."""
    if options.ignore_term:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.say:
        print(options.say, file=sys.stderr, flush=True)
    if options.spawn:
        import subprocess

        child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL)
        print(f"child {child.pid}", file=sys.stderr, flush=True)
    wanted = [name for name in options.wants.split(",") if name and not os.environ.get(name)]
    if wanted:
        sys.exit(f"Please set {' and '.join(wanted)} environment variables")
    if options.start == "exit":
        sys.exit(options.code)
    if options.start == "rubbish":
        print("Welcome to my server!\n\nListening…", flush=True)
        print("HTTP/1.1 200 OK", flush=True)
    time.sleep(options.delay)


def main(kind: type[Server] = Server) -> None:
    options = Options(sys.argv[1:])
    begin(options)
    server = kind(options)
    for line in sys.stdin:
        if options.start not in ("silent", "rubbish"):
            server.take(loads(line))
        while options.deaf:
            time.sleep(0.1)
    while options.ignore_term:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
