import importlib
import inspect

import pytest

from broker_core.errors import UnknownReportError
from spark_reports import catalog


def test_reports_are_found_by_name():
    assert all(catalog.find(spec.name) is spec for spec in catalog.reports())


def test_an_unknown_report_names_those_there_are():
    with pytest.raises(UnknownReportError, match="throughput") as caught:
        catalog.find("nothing")
    assert caught.value.exit_code == 2


def test_the_reports_that_are_made_of_sums_are_known():
    modules = {spec: importlib.import_module(f"spark_reports.reports.{spec.module}") for spec in catalog.reports()}
    asking = {spec.name for spec, one in modules.items() if ".sums(" in inspect.getsource(one.queries)}
    assert asking == {spec.name for spec in catalog.reports() if spec.is_summed}
