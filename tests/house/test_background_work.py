"""Background work is fenced, and what becomes a verdict is decided in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from django.apps import apps

from tests.house.sources import Function, Module, modules

LEASE = frozenset({"lease_until", "leased_until", "heartbeat", "alive", "claim", "takes", "starts", "attempt"})
OTHERWISE = {}
# Who writes such a column without a claim, and why that is no work of a stale worker.
WITHOUT_CLAIM = {
    ("work/leases.py", "lease_begin"): "claims locked rows",
    ("work/leases.py", "lease_extend"): "rows that callers have fenced",
    ("work/leases.py", "lease_end"): "rows that callers have fenced",
    ("knowledge/services/jobs.py", "job_cancel"): "a person, under the locks of the job and its items",
    ("knowledge/services/withdrawal.py", "_items_cancel"): "a person, under the lock of the document",
}
FENCES = frozenset({"fenced", "fenced_rows", "leased", "items_held", "claim", "job_held", "job_writing"})
OF_LEASES = frozenset({"lease_extend", "lease_end"})  # write what they are given
VERDICTS = frozenset({"_fail", "items_put_off_or_fail", "error_columns"})
DECIDERS = frozenset({"known_fault", "failure_columns", "_expected"})  # of which the last two ask the first


def called(node: ast.AST) -> set[str]:
    """Names of what is called inside."""
    calls = (one.func for one in ast.walk(node) if isinstance(one, ast.Call))
    return {
        name
        for one in calls
        if (name := one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else "")
    }


def helpers(module: Module) -> set[str]:
    """Functions of a module that give fenced rows: their only statement but a docstring returns such."""
    return {
        function.name
        for function in module.functions()
        if isinstance(last := function.body[-1], ast.Return) and called(last) & FENCES
    }


def writes(function: Function) -> Iterator[ast.Call]:
    """Updates of columns by which workers hold rows."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        is_update = isinstance(node.func, ast.Attribute) and node.func.attr == "update"
        is_of_lease = isinstance(node.func, ast.Name) and node.func.id in OF_LEASES
        if is_of_lease or (is_update and LEASE & {keyword.arg for keyword in node.keywords}):
            yield node


def test_every_model_that_workers_hold_says_what_fences_it():
    holdable = {model for model in apps.get_models() if LEASE & {field.name for field in model._meta.fields}}
    named = {model._meta.label for model in holdable if not hasattr(model, "FENCE")}

    assert len(holdable) >= 2
    assert named == set(OTHERWISE)
    for model in holdable:
        if hasattr(model, "FENCE"):
            assert model.FENCE in {field.name for field in model._meta.fields}, model


def test_workers_write_only_what_they_still_hold():
    unfenced, seen = [], set()
    for module in modules():
        fences = FENCES | helpers(module)
        for function in module.functions():
            for node in writes(function):
                key = (str(module), function.name)
                if called(function) & fences and key not in WITHOUT_CLAIM:
                    continue
                seen.add(key)
                if key not in WITHOUT_CLAIM:
                    unfenced.append(module.at(node, function.name))

    assert unfenced == []
    assert set(WITHOUT_CLAIM) <= seen, "an exception that nothing needs any more"


def test_an_unknown_exception_becomes_a_verdict_in_one_place_only():
    """Whoever catches all exceptions and stores one asks `work.faults` whether it passes by itself."""
    judging = [
        (module, handler)
        for module in modules()
        for handler in module.nodes(ast.ExceptHandler)
        if isinstance(handler.type, ast.Name)
        and handler.type.id in ("Exception", "BaseException")
        and called(handler) & (VERDICTS | DECIDERS)
    ]
    alone = [module.at(handler) for module, handler in judging if not called(handler) & DECIDERS]

    assert len(judging) > 5
    assert [place for place in alone if not asks_within_fail(place)] == []


def asks_within_fail(place: str) -> bool:
    """Whether the `_fail` of its module asks."""
    path = place.split(":")[0]
    module = next(one for one in modules() if str(one) == path)
    return any(one.name == "_fail" and called(one) & DECIDERS for one in module.functions())


def test_known_faults_are_told_apart_by_the_one_function_only():
    """No other module lists the exceptions of the stores as passing ones."""
    listing = [
        module.at(node)
        for module in modules()
        for node in module.nodes(ast.Call)
        if isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and {"OperationalError", "RedisError"} <= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        and str(module) not in ("work/faults.py", "chat/consumers.py")  # a connection stores no verdict
    ]

    assert listing == []
