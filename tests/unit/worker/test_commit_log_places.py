from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.worker.process import _spread_over


def test_a_window_is_told_of_other_directories_of_the_log(tmp_path):
    assert _spread_over(StoreConfig(root=tmp_path)) == ""
    spread = StoreConfig(root=tmp_path, commit_log_paths="/disk1/log,/disk2/log", commit_log_paths_read_only="/old")
    assert _spread_over(spread) == ",".join(str(Path(one).absolute()) for one in ("/disk1/log", "/disk2/log", "/old"))
