"""``delayOffset.json``."""

import pytest

from broker_core.engine.schedule.delay_service import DelayProgress
from broker_core.engine.store.config_file import format_config, parse_config
from broker_core.errors import CodecError


def test_a_file_of_4_9_is_read_and_written_without_a_version():
    progress = DelayProgress()
    progress.load(parse_config('{\n\t"offsetTable":{1:10,2:9,18:0\n\t}\n}'))
    assert progress.offsets == progress.saved == {1: 10, 2: 9, 18: 0}
    progress.save({1: 11, 2: 9}, 5)
    assert progress.to_json() == {"offsetTable": {"1": 11, "2": 9}}
    assert parse_config(format_config(progress.to_json())) == progress.to_json()


def test_the_version_of_a_5_x_file_goes_on():
    progress = DelayProgress()
    progress.load({"dataVersion": {"counter": 12, "stateVersion": 3, "timestamp": 1}, "offsetTable": {"1": 4}})
    progress.save({1: 5}, 77)
    assert progress.to_json()["dataVersion"] == {"counter": 13, "stateVersion": 3, "timestamp": 77}


@pytest.mark.parametrize("table", [{"one": 1}, {"1": None}, [1, 2], {"1": "x"}])
def test_what_is_no_progress_is_refused(table):
    with pytest.raises(CodecError, match=r"should be a whole number|it has no object"):
        DelayProgress().load({"offsetTable": table})
