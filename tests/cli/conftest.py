"""Commands run in a folder of their own, on a newcomer's table."""

import pytest

from shop import write_shop


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shop(tmp_path):
    write_shop(tmp_path / "shop.csv")
    return "shop.csv"
