"""Why a socket could not be connected, in the words of the system. Pure."""

from __future__ import annotations

import os
import re

_NUMBER = re.compile(r"\[Errno (\d+)\]")


def socket_reason(error: OSError) -> str:
    """The system's reason of an error, without asyncio's text around it.

    asyncio writes "Connect call failed ('127.0.0.1', 9876)" in place of the reason, and a name with several addresses causes
    one error with the texts of all and no number. Names that cannot be resolved have negative numbers and texts of their own.
    """
    numbers = [error.errno] if error.errno is not None else list(map(int, _NUMBER.findall(str(error))))
    known = dict.fromkeys(os.strerror(number) for number in numbers if number > 0)
    return ", ".join(known) or error.strerror or str(error)
