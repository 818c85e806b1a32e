"""Start of a frame with a binary header, as the short ways read it: up to the fields.

Source: docs/spec/remoting.md §1.2, §1.3.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

HEAD: Final = Struct(">IIhbhiiii")
"""Frame length, kind and header length; code, language, version, opaque, flag, remark length, fields length."""
assert HEAD.size == 29

OPAQUE_POSITION: Final = 13
OPAQUE_BYTES: Final = 4
"""Of the opaque in it."""
