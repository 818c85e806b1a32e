"""Errors in the language of the window: the one way in which an error of a request or an action is shown.

The broker, its worker and the system write English errors. One of a known form is translated with its names and figures. For
any other a sentence about its class says what to do, followed by the original text, which somebody may have to search for.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from functools import partial

from broker_core.api import AccountRefusedError, OrbitError, ResponseCode
from gui.words.broker_words import broker_text
from gui.words.text import shown_language, tr

_CHINESE = re.compile("[\u4e00-\u9fff]")
_OF_KINDS = {
    "ReadOnlyConnectionError": "This connection is read-only: nothing can be changed over it.",
    "SecretError": "The place where secrets are kept cannot be used. Unlock the key store, or keep them in a file.",
    "FilterError": "The filter cannot be read. Correct it at the place that is named.",
    "FilterSyntaxError": "The filter cannot be read. Correct it at the place that is named.",
    "UsageError": "A value cannot be used. Correct it and try again.",
    "UnclearTimeError": "A value cannot be used. Correct it and try again.",
    "StoreLockedError": "Another process uses this store. End it, or choose another store.",
    "ForeignStoreError": "This is no RocketMQ store. Choose the folder that holds commitlog and consumequeue.",
    "StorePermissionError": "This user may not read or write the store. Change its permissions, or choose another one.",
    "StoreFullError": "The disk is full. Free some room and try again.",
    "StoreReadOnlyError": "The store takes no changes: it is open for reading, or a sync to the disk failed.",
    "CorruptStoreError": "A file of the store is damaged. “orbit store verify” names the file and the place.",
    "MissingPartError": "A part of Orbit is not installed. The details say which, and how to install it.",
    "StoreError": "The store could not be used. Look at the disk and at the log of the broker, then try again.",
    "CodecError": "What came is not in the form it should have. The other side may be of another version.",
    "FrameError": "What came is not in the form it should have. The other side may be of another version.",
    "RecordError": "A record of the log is damaged and cannot be read.",
    "PortInUseError": "Another program uses this port. Choose another one.",
    "ConnectionLostError": "The connection ended before the answer. Look whether it was done before you try again.",
    "NetworkError": "The address cannot be reached. Check it, and whether the server runs.",
    "WorkerLostError": "The broker process has ended. Restart it, then try again.",
    "WorkerError": "The broker process could not do it. Try again; its log says more.",
    "CancelledByUserError": "It was cancelled.",
    "AccountRefusedError": "The broker refuses this account. Check its keys, and what it may do.",
    "RemoteError": "The broker refused it. Its words are behind this.",
    "RequestRefusedError": "The broker refused it. Its words are behind this.",
    "UnknownReportError": "There is no report of that name.",
    "JavaError": "Java is missing, did not start or ran out of memory.",
    "ReportError": "The report could not be made.",
    "BugError": "Orbit made a mistake. Its log says more.",
    "OrbitError": "It could not be done.",
}
"""Classes of errors; keys of the catalogue."""
_OF_CODES = {
    ResponseCode.SYSTEM_BUSY: "The broker is busy (2). Try again in a moment.",
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: "This broker does not know the request (3). It may be too old for it.",
    ResponseCode.FLUSH_DISK_TIMEOUT: "The message is stored, but not on the disk in time (10).",
    ResponseCode.SLAVE_NOT_AVAILABLE: "The message is stored, but no slave has it (11).",
    ResponseCode.FLUSH_SLAVE_TIMEOUT: "The message is stored, but no slave had it in time (12).",
    ResponseCode.MESSAGE_ILLEGAL: "The broker does not take such a message (13). Check its size, topic and properties.",
    ResponseCode.SERVICE_NOT_AVAILABLE: "The broker takes nothing now (14). Look at its disk and its state.",
    ResponseCode.NO_PERMISSION: "This is not permitted (16). Check the account, and the permission of the topic or the group.",
    ResponseCode.TOPIC_NOT_EXIST: "The broker does not have this topic (17). Create it first.",
    ResponseCode.QUERY_NOT_FOUND: "Nothing of it was found (22).",
    ResponseCode.SUBSCRIPTION_PARSE_FAILED: "The subscription cannot be read (23). Correct its expression.",
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: "The broker does not have this group (26). Create it first.",
    ResponseCode.CONSUMER_NOT_ONLINE: "No consumer of the group is online (206). Start one, then try again.",
    ResponseCode.CONSUME_MSG_TIMEOUT: "The consumer did not answer in time (207).",
    ResponseCode.NO_MESSAGE: "The message is not there any more (208).",
    ResponseCode.FLOW_CONTROL: "The broker limits how much it is asked (215). Try again in a moment.",
}
"""Response codes of brokers; keys of the catalogue."""
_OF_SYSTEM = {
    errno.ENOSPC: "The disk is full. Free some room and try again.",
    errno.EDQUOT: "The disk is full. Free some room and try again.",
    errno.EACCES: "This user may not read or write it. Change its permissions, or choose another place.",
    errno.EPERM: "This user may not read or write it. Change its permissions, or choose another place.",
    errno.EROFS: "The disk can only be read. Choose another place.",
    errno.ENOENT: "The file or folder is not there.",
    errno.EISDIR: "This is a folder, not a file.",
    errno.ENOTDIR: "This is a file, not a folder.",
    errno.EEXIST: "There is one of that name already.",
    errno.EMFILE: "Too many files are open. Close some pages, and try again.",
    errno.EIO: "The disk does not read or write it. Look at the disk.",
}
"""Errors of the system; keys of the catalogue."""


def error_text(error: Exception) -> str:
    """An error and what to do; the original text follows in a line of its own.

    An error that Orbit does not raise on purpose is shown with its own text.
    """
    if isinstance(error, OrbitError):
        told = broker_text(error.message)
        sentence = "" if told != error.message or _CHINESE.search(told) else _sentence(error)
    elif isinstance(error, OSError):
        told = error.strerror or str(error)
        sentence = tr(_OF_SYSTEM[error.errno]) if error.errno in _OF_SYSTEM else ""
    else:
        told, sentence = broker_text(str(error)), ""
    return "\n".join(filter(None, (sentence, told)))


def error_line(error: Exception) -> str:
    """`error_text` in one line, for a toast or a place within a sentence."""
    sentence, _, detail = error_text(error).partition("\n")
    return tr("{sentence} ({detail})", sentence=sentence, detail=detail.replace("\n", " ")) if detail else sentence


def kept_line(error: Exception) -> Callable[[], str]:
    """A function that writes `error_line`, for notices, which stay: it keeps no frame of the error."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return partial(error_line, error)


def _sentence(error: OrbitError) -> str:
    """Sentence of an error's class. Our own English texts need none; those of other brokers may."""
    code = error.context.get("code")
    # The error itself names the missing permission.
    if code in _OF_CODES and not isinstance(error, AccountRefusedError):
        return tr(_OF_CODES[ResponseCode(int(code))])
    if shown_language() == "en":
        return ""
    kinds = (kind.__name__ for kind in type(error).__mro__)
    return tr(next(_OF_KINDS[kind] for kind in kinds if kind in _OF_KINDS))
