"""Images that `run` and `chat` send along with a message."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from pilothouse.cli.prompting import interruptible
from pilothouse.types import limits
from pilothouse.types.api import ImageInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.media import OPAQUE, picture_type
from pilothouse.types.pictures import UNKNOWN, picture_size

PIPED = "-"
_KINDS = "PNG, JPEG, GIF or WebP"
# Of all images of a message together; in base64 they are a third larger, and the words need room beside them.
_TOGETHER = (limits.MESSAGE_BODY_BYTES - limits.BODY_BYTES) // 4 * 3


def read_images(names: Sequence[str]) -> tuple[ImageInput, ...]:
    """Return the images in these files, `-` for what is piped in; raise one sentence for what is none."""
    if len(names) > limits.IMAGES_PER_MESSAGE:
        fix = "Send the others with the next message."
        raise PilothouseError("too_large", f"At most {limits.IMAGES_PER_MESSAGE} images fit in one message.", fix=fix)
    if list(names).count(PIPED) > 1:
        raise PilothouseError("bad_request", "Only one image can be piped in.", fix="Name the files of the others.")
    read = [_piped() if name == PIPED else _file(name) for name in names]
    if sum(len(data) for _name, data in read) > _TOGETHER:
        most = _TOGETHER // 1024 // 1024
        raise PilothouseError("too_large", f"The images are larger than {most} MB together.", fix="Send fewer at once.")
    return tuple(_checked(name, data) for name, data in read)


async def check_sight(api: ClientApi, model_id: str | None) -> None:
    """Raise one sentence if a model, else the default, takes no images; a model that nobody knows is told of later."""
    models = await api.models.list(LOCAL_OWNER)
    chosen = model_id or models.default_model_id
    one = next((one for one in models.models if one.id == chosen), None)
    if one is not None and not one.supports_images:
        fix = f"Choose another with --model. If it does: pilothouse models edit {one.id} --images"
        raise PilothouseError("bad_request", f"“{one.name}” does not take images.", fix=fix)


def _piped() -> tuple[str, bytes]:
    if sys.stdin.isatty():
        raise PilothouseError("bad_request", "No image is piped in.", fix="Pipe one in, or name its file.")
    with interruptible():
        return "", _bounded(sys.stdin.buffer, "The image that is piped in")


def _file(name: str) -> tuple[str, bytes]:
    if not name.strip():
        raise PilothouseError("bad_request", "An image was named, but the name is empty.", fix="Name its file.")
    path = at_home(name)
    try:
        if path.is_dir():
            raise PilothouseError("bad_request", f"{path} is a folder, not an image.", fix="Name a file in it.")
        # Of a shell's own pipe, as in <(…), nothing is there by its name.
        if (real := Path(os.path.realpath(path))).exists() and not real.is_file():
            fix = "Pipe the image in: --image -"
            raise PilothouseError("bad_request", f"{path} is a pipe or a device, not an image.", fix=fix)
        with path.open("rb") as file:
            return path.name, _bounded(file, str(path))
    except FileNotFoundError:
        raise PilothouseError("bad_request", f"There is no file {path}.", fix="Is its name right?") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name cannot be one"
        raise PilothouseError("bad_request", f"{path} cannot be read: {why}.") from None


def _bounded(file: BinaryIO, what: str) -> bytes:
    data = file.read(limits.IMAGE_BYTES + 1)
    if len(data) > limits.IMAGE_BYTES:
        most = limits.IMAGE_BYTES // 1024 // 1024
        raise PilothouseError("too_large", f"{what} is larger than {most} MB.", fix="Make it smaller.")
    return data


def _checked(name: str, data: bytes) -> ImageInput:
    kind = picture_type(data)
    if kind == OPAQUE:
        what = name or "What is piped in"
        fix = f"Models take {_KINDS}."
        if name:
            fix += " If it is a document, have it read first: pilothouse documents add FILE"
        raise PilothouseError("bad_request", f"{what} is not an image.", fix=fix)
    if picture_size(kind, data) == UNKNOWN:
        what = name or "What is piped in"
        raise PilothouseError("bad_request", f"{what} is not a whole image.", fix="Is the file complete?")
    fields = {"mediaType": kind, "data": base64.b64encode(data).decode(), "name": name[: limits.RESULT_LABEL_CHARS]}
    return msgspec.convert(fields, ImageInput)
