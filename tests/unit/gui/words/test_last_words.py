import pytest

from gui.words.last_words import last_words

INFO = "2026-11-29T12:00:00.123Z INFO broker_core.engine.broker: store opened"
ALERT = "2026-11-29T12:00:01.123Z WARNING monitoring.alert_keeper: alert: Dead letters: above 0"
ERROR = "2026-11-29T12:00:02.123Z ERROR broker_core.engine.store.flush: the disk is full"
TRACE = ["Traceback (most recent call last):", '  File "broker.py", line 3, in <module>', "    run()"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], ""),
        ([INFO, ALERT], ""),
        ([INFO, ERROR, INFO], "the disk is full"),
        ([INFO, *TRACE, "broker_core.errors.StoreError: no room in /data"], "no room in /data"),
        ([*TRACE, "OSError: [Errno 28] No space left on device"], "[Errno 28] No space left on device"),
        ([INFO, "a library is missing"], "a library is missing"),
        (
            [INFO, "Fatal Python error: Segmentation fault", "", "Current thread 0x7f (most recent call first):"],
            "Fatal Python error: Segmentation fault",
        ),
        (["address 127.0.0.1: in use"], "address 127.0.0.1: in use"),
    ],
)
def test_only_what_may_say_why_is_repeated_and_without_names_of_modules(lines, words):
    assert last_words(lines) == words
