from pathlib import Path

import pytest

from broker_core.errors import ReportError, UsageError
from spark_reports.output import pdf


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_no_browser_is_said_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(pdf, "BROWSERS", ())
    with pytest.raises(UsageError, match="--also pdf"):
        pdf.find_browser()
    program(tmp_path / "chromium", "exit 0")
    assert pdf.find_browser() == tmp_path / "chromium"


def test_the_page_is_printed_beside_itself(tmp_path):
    browser = program(
        tmp_path / "chromium", 'for word; do case $word in --print-to-pdf=*) echo printed > "${word#*=}";; esac; done'
    )
    assert pdf.print_page(tmp_path / "report.html", browser) == "report.pdf"
    assert Path(tmp_path / "report.pdf").read_text() == "printed\n"


@pytest.mark.parametrize("text", ["echo no room >&2; exit 1", "echo no room >&2"])
def test_a_browser_that_fails_is_quoted(tmp_path, text):
    with pytest.raises(ReportError, match="no room"):
        pdf.print_page(tmp_path / "report.html", program(tmp_path / "chromium", text))
