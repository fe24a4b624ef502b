"""Fixtures of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def shelf(tmp_path: Path, settings) -> Path:
    """An empty folder that the operator has opened for sources."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    settings.SOURCE_FOLDERS = (str(tmp_path),)
    return folder
