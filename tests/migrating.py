"""Taking single migrations back and applying them again, over rows of today.

Only the named migrations run, each with the state of the models at its place in history. Later migrations stay
applied: they touch other tables, or other columns of the same. A walk through all schemas between costs a minute, most
of it for making the classes of models anew after each of several hundred operations; it proves the same of a migration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState, StateApps


def migrations_unapply(app: str, *numbers: str) -> StateApps:
    """Take migrations back, the last one first; the models from before the first one."""
    executor = MigrationExecutor(connection)
    keys = _keys(executor, app, numbers)
    with models_rendered_late():
        for key in reversed(keys):
            executor.unapply_migration(_before(executor, key), executor.loader.graph.nodes[key])
    return _before(executor, keys[0]).apps


def migrations_apply(app: str, *numbers: str) -> None:
    """Apply those of the migrations that are not."""
    executor = MigrationExecutor(connection)
    with models_rendered_late():
        for key in _keys(executor, app, numbers):
            if key not in executor.loader.applied_migrations:
                executor.apply_migration(_before(executor, key), executor.loader.graph.nodes[key])


def _keys(executor: MigrationExecutor, app: str, numbers: Sequence[str]) -> list[tuple[str, str]]:
    """(app, name) of migrations by their numbers, in order."""
    found = [executor.loader.get_migration_by_prefix(app, f"{number}_") for number in sorted(numbers)]
    return [(one.app_label, one.name) for one in found]


def _before(executor: MigrationExecutor, key: tuple[str, str]) -> ProjectState:
    state: ProjectState = executor.loader.project_state(key, at_end=False)
    return state


@contextmanager
def models_rendered_late() -> Iterator[None]:
    """Classes of models are made when an operation asks for them, not after each change of the state before it."""

    def forget(state: ProjectState, *_: Any, **__: Any) -> None:
        state.__dict__.pop("apps", None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProjectState, "reload_model", forget)
        patch.setattr(ProjectState, "reload_models", forget)
        yield
