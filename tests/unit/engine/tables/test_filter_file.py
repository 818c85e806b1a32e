"""consumerFilter.json over restarts."""

import asyncio
import json

from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.consumer_filters import FILTERS_FILE, ConsumerFilters, FilterFile
from broker_core.protocol.subscription import parse_subscription


def test_filters_are_written_at_the_end_and_read_at_the_start(tmp_path):
    async def run(register):
        filters, files = ConsumerFilters(lambda: 1_700_000_000_000), ConfigFiles(tmp_path)
        files.start()
        service = FilterFile(filters, files)
        service.start()
        if register:
            filters.register("g", [parse_subscription("T", "a > 1", expression_type="SQL92", version=3)])
        await service.stop()
        await files.stop()
        return filters

    asyncio.run(run(register=True))
    written = json.loads((tmp_path / FILTERS_FILE).read_bytes())
    data = written["filterDataByTopic"]["T"]["groupFilterData"]["g"]
    assert (data["expression"], data["expressionType"], data["clientVersion"]) == ("a > 1", "SQL92", 3)
    assert asyncio.run(run(register=False)).get("T", "g").expression == "a > 1"
