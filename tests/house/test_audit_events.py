"""Each service that writes records an event, or stands in unaudited.tsv with a reason.

Followed through the code: a function writes where it, or a function of ours that it leads to, saves, creates, updates
or deletes rows; it records where it leads to an addition to the audit log.
"""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from functools import cache

from accounts.audit.actions import ACTIONS
from tests.house.call_graph import APPS, Function, modules, reached
from tests.house.sources import ROOT

RECORDS = {"audit_record", "event_add", "read_record"}
SERVICES = ("services", "sign_in", "people", "audit", "privacy", "scim", "conversations", "turns", "embeds")
OTHER_LAYERS = ("views", "models", "forms", "types")


def is_service(module: str) -> bool:
    parts = module.split(".")
    return len(parts) > 1 and parts[1] in SERVICES and not parts[-1].endswith(OTHER_LAYERS)


def leads_to_record(function: Function) -> bool:
    return any(one.name in RECORDS for one in reached(function))


@cache
def writing_services() -> dict[str, Function]:
    """Public functions of services that write rows, other than those of the log itself."""
    public = [
        function
        for name, module in modules().items()
        if is_service(name)
        for function in module.functions.values()
        if not function.name.startswith("_") and function.name not in RECORDS
    ]
    writes = [f for f in public if any(one.writes and one.name not in RECORDS for one in reached(f))]
    return {f"{function.module}.{function.name}": function for function in writes}


@cache
def silent() -> set[str]:
    return {name for name, function in writing_services().items() if not leads_to_record(function)}


@cache
def reasons() -> dict[str, str]:
    """Pattern → why."""
    lines = (ROOT / "tests" / "house" / "unaudited.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


def test_each_service_that_writes_records_an_event_or_has_a_reason_not_to():
    assert sorted(name for name in silent() if not any(fnmatch(name, pattern) for pattern in reasons())) == []


def test_no_reason_is_left_over_and_each_says_something():
    assert [pattern for pattern in reasons() if not any(fnmatch(name, pattern) for name in silent())] == []
    assert all(len(reason) > 10 for reason in reasons().values())


def test_the_walk_sees_what_it_should():
    writing = set(writing_services())

    assert {
        "knowledge.services.documents.document_delete",
        "knowledge.services.sets.set_members_put",
        "accounts.services.user_create",
        "accounts.sign_in.passwords.password_set",
        "chat.turns.message_store.turns_sweep",
    } <= writing
    assert "knowledge.services.documents.document_delete" not in silent()
    assert "chat.turns.message_store.turns_sweep" in silent()


def test_every_recorded_act_has_words():
    given = {
        keyword.value.value
        for app in APPS
        for text in (path.read_text(encoding="utf-8") for path in (ROOT / app).rglob("*.py"))
        if any(name in text for name in RECORDS)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RECORDS
        for keyword in node.keywords
        if keyword.arg == "action" and isinstance(keyword.value, ast.Constant)
    }

    assert len(given) > 40
    assert given - set(ACTIONS) == set()
