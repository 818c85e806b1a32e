"""How tests are shared out among processes."""

from __future__ import annotations

from tests.support.workers import GroupScheduling, begun_elsewhere, group_of


def test_a_file_is_a_group_and_what_shares_a_java_machine_is_one():
    assert group_of("tests/gui/test_tail.py::test_a[x::y]") == "tests/gui/test_tail.py"
    assert group_of("tests/spark/test_report.py::test_a") == "tests/spark/test_report.py"
    assert group_of("tests/spark/test_reports.py::test_a") == group_of("tests/spark/test_session.py::test_b")


def test_each_process_begins_to_read_a_folder_at_another_place_and_reads_all_of_it():
    read = list("abcdefg")
    orders = [begun_elsewhere(read, {"workerid": f"gw{number}", "workercount": 3}) for number in range(3)]
    assert ["".join(order) for order in orders] == ["abcdefg", "cdefgab", "efgabcd"]


def test_a_test_that_ended_its_process_is_reported_and_not_run_again():
    scheduling = GroupScheduling.__new__(GroupScheduling)
    done, group, next_group = {"a::1": True}, {"b::1": True, "b::2": False, "b::3": False}, {"c::1": False}
    scheduling.workqueue, scheduling.assigned_work = {}, {"one": {"a": done, "b": group, "c": next_group}}
    assert scheduling.remove_node("one") == "b::2"
    assert scheduling.workqueue == {"b": {"b::1": True, "b::2": True, "b::3": False}, "c": {"c::1": False}}
    scheduling.assigned_work = {"two": {"a": done}}
    assert scheduling.remove_node("two") is None
