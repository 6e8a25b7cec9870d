"""The tool `image_generation`: pictures from a description, by the service that the person chose."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pilothouse.tools.arguments import BadArgument, failed, optional_int, optional_string, require_string, success
from pilothouse.tools.harmless import spec_of
from pilothouse.tools.making import ToolParts
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.authority import PAGES
from pilothouse.types.invisible import on_one_line
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.pictures import picture_size
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, Part, ToolOutput
from pilothouse.types.tool_names import PICTURES

# ruff: noqa: PLC0415 - few have a service that makes pictures.
if TYPE_CHECKING:
    from pilothouse.tools.images.wires import Wanted
    from pilothouse.tools.web.chosen import ChosenService
    from pilothouse.tools.web.parts import WebParts

_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})")
_SENDS: frozenset[Effect] = frozenset({"sends"})


def make(parts: ToolParts) -> ImageGeneration:
    """Make the tool."""
    return ImageGeneration(parts.web, lambda: parts.settings().web.pictures != "none")


class ImageGeneration:
    """Makes pictures; implements the port `Tool`, and is there only where a service is set up."""

    server = ""
    qualified_name = PICTURES
    grant_key = PICTURES
    effects = _SENDS
    spec = spec_of(
        PICTURES,
        ("prompt",),
        {
            "prompt": {"type": "string"},
            "size": {"type": "string", "description": "Width and height in pixels: 1024x1024."},
            "count": {"type": "integer", "description": f"1 to {limits.MADE_PICTURES_AT_ONCE}; 1 by default."},
        },
    )

    def __init__(self, web: Lazy[WebParts], is_chosen: Callable[[], bool]) -> None:
        self._web = web
        self._is_chosen = is_chosen

    @property
    def _service(self) -> ChosenService:
        return self._web().pictures

    def now(self) -> ImageGeneration | None:
        """Return the tool if there is a service, and nothing is known to be wrong with it."""
        return self if self._is_chosen() and not self._service.problem else None

    def limited(self, allowed: frozenset[Effect]) -> ImageGeneration | None:
        return self if self.effects <= allowed else None

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        return CallTimes(limits.MADE_PICTURE_TIME)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return what is to be seen."""
        about = on_one_line(str(arguments.get("prompt") or ""))[: limits.WEB_TITLE_CHARS]
        doing = "Making a picture"
        return Shown(PICTURES, doing, f"{doing}: {about}" if about else doing, icon="image")

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return where the description would go, and whether that may cost money."""
        try:
            wanted = _wanted(arguments)
        except BadArgument as error:
            return failed(error.message, error.code)
        if problem := self._service.problem:
            return failed(f"No picture can be made: {problem}", "NOT_OFFERED")
        return Access(
            operation=PICTURES,
            effects=_SENDS,
            destination=self._service.host,
            payload_bytes=len(wanted.prompt.encode()),
            brings=frozenset({"untrusted"}),
            source=f"{PAGES}{self._service.host}",
            costs=not self._service.is_local,
        )

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Have them made."""
        from pilothouse.tools.images.making import pictures
        from pilothouse.tools.web.chosen import ServiceTrouble

        if context.access is not None and context.access.destination != self._service.host:
            return failed("The service that makes pictures was changed meanwhile: call it again.", "CHANGED")
        try:
            wanted = _wanted(arguments)
            made = await pictures(self._service, wanted)
        except BadArgument as error:
            return failed(error.message, error.code)
        except ServiceTrouble as trouble:
            return failed(trouble.sentence, "PICTURE_FAILED")
        return success(_told(made, wanted, self._takes_size), parts=tuple(made))

    @property
    def _takes_size(self) -> bool:
        from pilothouse.tools.images.wires import WIRES

        wire = WIRES.get(self._service.choice.kind)
        return wire is None or wire.sized


def _told(made: Sequence[Part], wanted: Wanted, takes_size: bool) -> str:
    sizes = [picture_size(part.media_type, part.data) for part in made]
    shown = ", ".join(f"{width} × {height} pixels" for width, height in sizes)
    note = "" if takes_size or not wanted.size else " The service chooses the size by itself."
    what = "The picture is" if len(made) == 1 else f"{len(made)} pictures are"
    return f"{what} shown to the person: {shown}.{note}"


def _wanted(arguments: Mapping[str, object]) -> Wanted:
    from pilothouse.tools.images.wires import Wanted

    prompt = require_string(arguments, "prompt").strip()
    if not prompt or len(prompt) > limits.MADE_PICTURE_PROMPT_CHARS:
        raise BadArgument(f"`prompt` describes a picture in at most {limits.MADE_PICTURE_PROMPT_CHARS:,} characters.")
    count = optional_int(arguments, "count", 1)
    if not 1 <= count <= limits.MADE_PICTURES_AT_ONCE:
        raise BadArgument(f"`count` is a number from 1 to {limits.MADE_PICTURES_AT_ONCE}.")
    size = optional_string(arguments, "size").strip().lower().replace("×", "x")
    if not size or size == "auto":
        return Wanted(prompt, count)
    found = _SIZE.fullmatch(size)
    sides = (int(found[1]), int(found[2])) if found else (0, 0)
    least, most = limits.MADE_PICTURE_SIDE_LEAST, limits.MADE_PICTURE_SIDE_MOST
    if not all(least <= side <= most for side in sides):
        raise BadArgument(f"`size` is width and height from {least} to {most} pixels, as 1024x1024.")
    return Wanted(prompt, count, *sides)
