"""The dictionary of Chinese and English is laid out once, for all processes of a run and for later runs.

Laying it out takes five seconds, and each folder of models of a test would begin anew. Its own tests do.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from ragcore.text import glossary
from ragcore.text.glossary import DATA, FILE, PACKAGE, CedictGlossary
from tests.services_plugin import kept_folder

OWN_TESTS = "test_glossary.py"


def dictionary_keep(patch: pytest.MonkeyPatch) -> None:
    """From now on a folder without the dictionary gets a copy of the one that was laid out first."""
    lay_out = CedictGlossary._make

    def make(self: CedictGlossary) -> None:
        if OWN_TESTS in os.environ.get("PYTEST_CURRENT_TEST", ""):
            return lay_out(self)
        first = CedictGlossary(kept_folder("dictionary") / _version())
        lay_out(first)  # does nothing where it is there
        self._path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self._path.with_name(f"{FILE}.{os.getpid()}")
        shutil.copyfile(first._path, scratch)
        scratch.rename(self._path)
        return None

    patch.setattr(CedictGlossary, "_make", make)


def _version() -> str:
    made_from = hashlib.sha256(Path(glossary.__file__).read_bytes())
    made_from.update(files(PACKAGE).joinpath(DATA).read_bytes())
    return made_from.hexdigest()[:16]
