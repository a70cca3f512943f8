"""Values as text for the file "cfg" of a component: msgpack, deflated, in base 64."""

import base64
import zlib
from typing import Any

import srsly


def pack_text(value: Any) -> str:
    """The text of a value that msgpack can write."""
    return base64.b64encode(zlib.compress(srsly.msgpack_dumps(value))).decode()


def unpack_text(text: str) -> Any:
    """The value whose text `pack_text` has made; raises what decoding, inflating or msgpack raises of other texts."""
    return srsly.msgpack_loads(zlib.decompress(base64.b64decode(text, validate=True)))
