"""Walking back to earlier schemas without making the models of all schemas between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.migrations.state import ProjectState


@contextmanager
def models_rendered_late() -> Iterator[None]:
    """Classes of models are made when an operation asks for them, not after each change of the state before it.

    On the way back Django computes the states of all migrations first, and would make nearly all classes anew for each
    of their operations: 8 s of processor time for two migrations of `accounts`, 2 s in here.
    """

    def forget(state: ProjectState, *_: Any, **__: Any) -> None:
        state.__dict__.pop("apps", None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProjectState, "reload_model", forget)
        patch.setattr(ProjectState, "reload_models", forget)
        yield
