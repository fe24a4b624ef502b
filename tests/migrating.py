"""Taking single migrations back and applying them again, over rows of today.

Only the named migrations run, each with the state of the models at its place in history. Later migrations stay
applied: they touch other tables, or other columns of the same. A walk through all schemas between costs a minute, most
of it for making the classes of models anew after each of several hundred operations; it proves the same of a migration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from typing import Any

import pytest
from django.db import connection
from django.db.migrations import Migration, RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState, StateApps
from django.db.models import Field
from django.db.transaction import atomic

# sites have applied a migration that another one of its app follows, so it does not change any more
long_released = pytest.mark.full


def migrations_unapply(app: str, *numbers: str) -> StateApps:
    """Take migrations back, the last one first; the models from before the first one."""
    executor = MigrationExecutor(connection)
    keys = _keys(executor, app, numbers)
    with models_rendered_late():
        for key in reversed(keys):
            executor.unapply_migration(_before(executor, key), _with_shared_states(executor.loader.graph.nodes[key]))
        return _before(executor, keys[0]).apps


def migrations_apply(app: str, *numbers: str) -> None:
    """Apply those of the migrations that are not."""
    executor = MigrationExecutor(connection)
    with models_rendered_late():
        for key in _keys(executor, app, numbers):
            if key not in executor.loader.applied_migrations:
                executor.apply_migration(_before(executor, key), _with_shared_states(executor.loader.graph.nodes[key]))


def _keys(executor: MigrationExecutor, app: str, numbers: Sequence[str]) -> list[tuple[str, str]]:
    """(app, name) of migrations by their numbers, in order."""
    found = [executor.loader.get_migration_by_prefix(app, f"{number}_") for number in sorted(numbers)]
    return [(one.app_label, one.name) for one in found]


def _before(executor: MigrationExecutor, key: tuple[str, str]) -> ProjectState:
    state: ProjectState = executor.loader.project_state(key, at_end=False)
    return state


def _with_shared_states(migration: Migration) -> Migration:
    """Django's own migration, but the models after an operation and those before the next one are the same classes."""

    def run(before: ProjectState, editor: Any, *, backwards: bool) -> ProjectState:
        states = [before]
        for operation in migration.operations:
            states.append(_after(operation, states[-1], migration.app_label))
        steps = list(zip(migration.operations, states, states[1:], strict=False))
        for operation, former, latter in reversed(steps) if backwards else steps:
            is_atomic = operation.atomic or (migration.atomic and operation.atomic is not False)
            with atomic() if is_atomic and not editor.atomic_migration else nullcontext():
                if backwards:
                    operation.database_backwards(migration.app_label, editor, latter, former)
                else:
                    operation.database_forwards(migration.app_label, editor, former, latter)
        return states[0] if backwards else states[-1]

    migration.apply = lambda state, editor, **_: run(state, editor, backwards=False)
    migration.unapply = lambda state, editor, **_: run(state, editor, backwards=True)
    return migration


def _after(operation: Operation, state: ProjectState, app: str) -> ProjectState:
    """The state behind an operation: the same one where only the database changes."""
    of_database = isinstance(operation, RunPython | RunSQL | SeparateDatabaseAndState)
    if of_database and not getattr(operation, "state_operations", None):
        return state
    after = state.clone()
    operation.state_forwards(app, after)
    return after


@contextmanager
def models_rendered_late() -> Iterator[None]:
    """Classes of models are made when an operation asks for them, not after each change of the state before it.

    Their fields are copies instead of being taken apart and built anew, which took a third of the time.
    """

    def forget(state: ProjectState, *_: Any, **__: Any) -> None:
        state.__dict__.pop("apps", None)

    clone = Field.clone

    def copied(field: Field) -> Field:
        if hasattr(field, "base_field"):  # that of an array, which a copy would share
            return clone(field)
        made = deepcopy(field)
        made.creation_counter, Field.creation_counter = Field.creation_counter, Field.creation_counter + 1
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProjectState, "reload_model", forget)
        patch.setattr(ProjectState, "reload_models", forget)
        patch.setattr(Field, "clone", copied)
        yield
