"""A folder of the test's own, and a service that a test answers for."""

import os

import pytest
import responses

from tests.cli_samples import GROUPS, MANIFEST


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a manifest of 250 records, two of them bad, and its group."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("INJECTOR_")]:
        monkeypatch.delenv(name)
    rows = [f"{n},Name {n}" for n in range(248)] + [",no id", '"",no id either']
    (tmp_path / "users.csv").write_text("\n".join(["user_id,name", *rows]) + "\n")
    (tmp_path / "m.yaml").write_text(MANIFEST)
    (tmp_path / "g.yaml").write_text(GROUPS)
    return tmp_path


@pytest.fixture
def web():
    with responses.RequestsMock() as web:
        yield web
