"""Programs of other makers are for tests with the marker alone."""

import pytest

from tests.support import foreign_tools


def test_a_test_without_the_marker_may_use_no_foreign_program():
    for use in (lambda: foreign_tools.need("sh"), lambda: foreign_tools.need_package("pytest"), foreign_tools.browser):
        with pytest.raises(AssertionError, match="needs the marker"):
            use()


@pytest.mark.clients
def test_a_test_with_the_marker_may_use_what_is_installed():
    foreign_tools.need("sh")
    foreign_tools.need_package("pytest")
    with pytest.raises(pytest.skip.Exception, match="is not installed"):
        foreign_tools.need("no-such-program")
