"""Values as text for the file "cfg" of a component: msgpack, deflated, in base 64."""

import base64
import zlib
from typing import Any

import srsly


def pack(value: Any) -> str:
    """The text of a value that msgpack can write."""
    return base64.b64encode(zlib.compress(srsly.msgpack_dumps(value))).decode()


def unpack(text: str) -> Any:
    """The value whose text `pack` has made; raises what decoding, inflating or msgpack raises of any other text."""
    return srsly.msgpack_loads(zlib.decompress(base64.b64decode(text, validate=True)))
