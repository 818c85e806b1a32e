import os
from pathlib import Path

import pytest

from broker_core.errors import JavaError
from broker_core.machine_limits import Memory
from spark_reports.java import (
    HEAP_BYTES_MAX,
    HEAP_BYTES_MIN,
    class_path,
    find_java,
    heap_bytes_for,
    spark_home,
    worker_environment,
)

GIB = 1 << 30


def test_the_packaged_java_is_found():
    assert os.access(find_java(), os.X_OK)


def test_a_folder_without_java_is_named(tmp_path):
    with pytest.raises(JavaError, match=rf"no Java at {tmp_path}/bin/java\. .*--java-home"):
        find_java(tmp_path)


@pytest.mark.parametrize(("available", "heap"), [(GIB + 1, HEAP_BYTES_MIN), (6 * GIB, 2 * GIB), (100 * GIB, HEAP_BYTES_MAX)])
def test_the_heap_follows_the_free_memory(available, heap):
    assert heap_bytes_for(Memory(available)) == heap


def test_too_little_memory_is_said_first():
    with pytest.raises(JavaError, match="needs about 1,024 MiB of free memory and this machine has 300 MiB"):
        heap_bytes_for(Memory(300 << 20))


def test_too_little_in_a_container_is_said_with_its_limit():
    text = r"1,024 MiB of free memory and the control group \(container\) of Orbit, which may use 700 MiB, has 600 MiB"
    with pytest.raises(JavaError, match=text):
        heap_bytes_for(Memory(600 << 20, 700 << 20))


def test_the_heap_leaves_addresses_for_the_rest_of_java():
    assert heap_bytes_for(Memory(64 * GIB), 6 * GIB) == 2 * GIB
    with pytest.raises(JavaError, match="needs about 4,608 MiB of addresses and the limit of this shell is 4,096 MiB"):
        heap_bytes_for(Memory(64 * GIB), 4 * GIB)


def test_the_class_path_is_in_a_fixed_order():
    jars = class_path(spark_home()).split(os.pathsep)
    assert jars == sorted(jars)
    assert any("spark-core" in jar for jar in jars)


@pytest.mark.parametrize("name", ["Orbit 😀", "Orbit\udcff", f"a{os.pathsep}b"])
def test_a_folder_from_which_java_loads_nothing_is_refused_with_the_reason(name):
    with pytest.raises(JavaError, match=r"Java loads no programs from a folder whose name has .*\. Move Orbit") as told:
        class_path(Path("/opt", name))
    assert told.value.message.isascii()


def test_a_folder_with_other_letters_is_on_the_class_path(tmp_path):
    jar = tmp_path / "Bücher 商店 %41#!" / "jars" / "spark.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    assert class_path(jar.parents[1]) == str(jar)


def test_workers_find_our_package_and_search_no_other_folder():
    found = worker_environment()
    assert Path(found["PYTHONPATH"], "spark_reports").is_dir()
    assert found["PYTHONSAFEPATH"]
