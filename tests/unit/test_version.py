import tomllib
from pathlib import Path

from broker_core.version import ORBIT_VERSION


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == ORBIT_VERSION
