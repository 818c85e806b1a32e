from monitoring.history import retry_pause
from monitoring.history.retry_pause import GrowingPause


def test_it_grows_with_each_failure_up_to_a_minute(monkeypatch):
    monkeypatch.setattr(retry_pause.time, "monotonic", lambda: 100.0)
    pause = GrowingPause()
    assert pause.is_over
    assert pause.left_seconds == 0
    lengths = []
    for _failure in range(8):
        pause.failed()
        lengths.append(pause.left_seconds)
    assert lengths == [1, 2, 4, 8, 16, 32, 60, 60]
    pause.worked()
    assert pause.is_over
    pause.failed()
    assert pause.left_seconds == 1
