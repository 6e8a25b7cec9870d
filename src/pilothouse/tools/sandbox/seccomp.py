"""The calls of the kernel that no command in a sandbox may make, as container engines refuse them, and as a filter.

The filter is a program for the kernel's own machine (classic BPF), written out here by hand: for each kind of call, by
its numbers on each architecture. A process may make calls of an older architecture too, so these are filtered as well.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from functools import cache
from typing import Literal

import msgspec

# Which sockets a command may make: all where it has a network of its own or ours; where nothing but this filter stands
# between it and the network none, or none to this machine's own services.
Sockets = Literal["all", "network", "none"]

# The architectures of a machine, its own first: how the kernel names them.
_X86_64, _I386, _AARCH64, _ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
_KINDS = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}
_ORDER = (_X86_64, _I386, _AARCH64, _ARM)
# From here on x86_64 has a second set of numbers, of an architecture that is hardly built any more.
_X32 = 0x40000000


class Refused(msgspec.Struct, frozen=True):
    """A call that is refused: its numbers in the order of `_ORDER`, why, and with which error."""

    name: str
    numbers: tuple[int, int, int, int]
    why: str
    error: int = errno.EPERM


_KEYS = "Keys that the kernel keeps for the account or the session are the person's, and no file hides them."
_MODULES = "It changes the kernel itself."
_BOOT = "It puts another kernel in this one's place."
_RING = "It makes calls that no filter sees; programs that use it take the ordinary ones where it is missing."
REFUSED = (
    Refused("add_key", (248, 286, 217, 309), _KEYS),
    Refused("request_key", (249, 287, 218, 310), _KEYS),
    Refused("keyctl", (250, 288, 219, 311), _KEYS),
    Refused("bpf", (321, 357, 280, 386), "It loads programs into the kernel."),
    Refused("perf_event_open", (298, 336, 241, 364), "It watches other programs of the account."),
    Refused("userfaultfd", (323, 374, 282, 388), "It stops the kernel in the middle of a call, which attacks need."),
    Refused("kexec_load", (246, 283, 104, 347), _BOOT),
    Refused("kexec_file_load", (320, 0, 294, 401), _BOOT),
    Refused("init_module", (175, 128, 105, 128), _MODULES),
    Refused("finit_module", (313, 350, 273, 379), _MODULES),
    Refused("delete_module", (176, 129, 106, 129), _MODULES),
    Refused("open_by_handle_at", (304, 342, 265, 371), "It opens files without a path, past what is hidden."),
    Refused("io_uring_setup", (425, 425, 425, 425), _RING, errno.ENOSYS),
    Refused("io_uring_enter", (426, 426, 426, 426), _RING, errno.ENOSYS),
    Refused("io_uring_register", (427, 427, 427, 427), _RING, errno.ENOSYS),
)
# Requests to a terminal that type into it as if the person did; what is typed would run outside.
_IOCTL, _TYPING = (16, 54, 29, 54), (0x5412, 0x541C)
_SOCKET, _UNIX = {_X86_64: 41, _AARCH64: 198}, 1

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
# Where the kernel puts the number of a call, its architecture, and the lower halves of its first two arguments.
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24

_Step = tuple[int, int, int, int]


@cache
def filter_of(sockets: Sockets) -> bytes:
    """Return the filter for this machine as the kernel takes it; empty where its numbers are not known."""
    kinds = _KINDS.get(platform.machine(), ())
    steps: list[_Step] = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for kind in kinds:
        if kind in _SOCKET or sockets == "all":
            part = [*_calls(kind, sockets), (_RETURN, 0, 0, _ALLOW)]
            steps += [(_EQUAL, 0, len(part), kind), *part]
    # Any other architecture, and the older one where its ways to make a socket are not counted here.
    steps.append((_RETURN, 0, 0, _KILL))
    return b"".join(struct.pack("=HBBI", *step) for step in steps) if kinds else b""


def _calls(kind: int, sockets: Sockets) -> Iterator[_Step]:
    """Return the steps for the calls of one architecture; what they do not name goes on to what follows them."""
    place = _ORDER.index(kind)
    yield (_LOAD, 0, 0, _NUMBER)
    if kind == _X86_64:
        yield (_AT_LEAST, 0, 1, _X32)
        yield (_RETURN, 0, 0, _ERROR | errno.ENOSYS)
    for call in REFUSED:
        if call.numbers[place]:
            yield (_EQUAL, 0, 1, call.numbers[place])
            yield (_RETURN, 0, 0, _ERROR | call.error)
    if sockets != "all":
        # Pairs of sockets are another call and still work.
        yield (_EQUAL, 0, 4, _SOCKET[kind])
        yield (_LOAD, 0, 0, _FIRST)
        yield (_EQUAL, 0, 1, _UNIX) if sockets == "network" else (_RETURN, 0, 0, _ERROR | errno.EACCES)
        yield (_RETURN, 0, 0, _ERROR | errno.EACCES)
        yield (_RETURN, 0, 0, _ALLOW)
    yield (_EQUAL, 0, len(_TYPING) + 3, _IOCTL[place])
    yield (_LOAD, 0, 0, _SECOND)
    for left, request in enumerate(reversed(_TYPING)):
        yield (_EQUAL, len(_TYPING) - left, 0, request)
    yield (_RETURN, 0, 0, _ALLOW)
    yield (_RETURN, 0, 0, _ERROR | errno.EPERM)
