"""What Orbit uses of PySpark without a public door is there; what is done with it is in tests/spark/test_session.py."""

import os
import sys
from importlib import import_module, metadata

import pytest
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from spark_reports import pyspark_internals

HERE = {
    "_PYSPARK_DRIVER_CONN_INFO_PATH": lambda: pyspark_internals.CONNECTION_FILE in launch_gateway.__code__.co_consts,
    "PYSPARK_GATEWAY_PORT": lambda: "PYSPARK_GATEWAY_PORT" in launch_gateway.__code__.co_consts,
    "PYSPARK_GATEWAY_SECRET": lambda: "PYSPARK_GATEWAY_SECRET" in launch_gateway.__code__.co_consts,
    "SparkContext._gateway": lambda: hasattr(SparkContext, "_gateway"),
    "SparkContext._jvm": lambda: hasattr(SparkContext, "_jvm"),
    "SparkContext._jsc": lambda: "_jsc" in SparkContext._do_init.__code__.co_names,
    "SparkSession._jvm": lambda: "_jvm" in SparkSession.__init__.__code__.co_names,
    "SparkSession._jsparkSession": lambda: "_jsparkSession" in SparkSession.__init__.__code__.co_names,
    "SparkSession._get_j_spark_session_class": lambda: hasattr(SparkSession, "_get_j_spark_session_class"),
    "pyspark.sql.pandas.types.to_arrow_schema": lambda: hasattr(import_module("pyspark.sql.pandas.types"), "to_arrow_schema"),
}


@pytest.mark.parametrize("name", HERE)
def test_pyspark_has_what_has_no_public_door(name):
    version = metadata.version("pyspark")
    assert HERE[name](), (
        f"PySpark {version} lacks {name}: find another way in spark_reports/pyspark_internals.py, or pin PySpark"
    )


def test_without_pyspark_nothing_is_forgotten_or_imported(monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "hush")
    monkeypatch.delitem(sys.modules, "pyspark")
    pyspark_internals.forget_gateway()
    assert "pyspark" not in sys.modules
    pyspark_internals.use_gateway(2, "new")
    assert (os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]) == ("2", "new")
