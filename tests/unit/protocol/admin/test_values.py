import pytest

from broker_core.protocol.admin.values import whole_number


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("-1", -1), ("", None), (None, None), ("1.5", None)])
def test_a_figure_is_a_number_or_unknown(text, number):
    assert whole_number(text) == number
