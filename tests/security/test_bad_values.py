"""Values that the database cannot hold, at every address: never a fault of the server.

NUL, halves of surrogate pairs, integers beyond bigint and dates beyond the calendar, in paths, query strings, filters
of the administration, forms, JSON bodies, headers and cookies. The short form sends some of them at some addresses:
each value, and each address with a parameter, once at least.
"""

from __future__ import annotations

import json
import logging
import random
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from django.contrib import admin
from django.db import models, transaction
from django.test import Client

from accounts.services import api_key_create
from ragsite.openapi import merged_schema
from tests.api.world import DIFY_FIELDS
from tests.forms_plugin import is_full
from tests.security.oracle.facts import Person
from tests.security.oracle.forms import form_of
from tests.security.oracle.places import world_make
from tests.security.oracle.reading import SIGNING_IN
from tests.security.oracle.routes import Aim, Route, routes_all
from tests.security.oracle.walk import Walk

pytestmark = pytest.mark.timeout(1800 if is_full() else 400)
HUGE = 2**63
IN_PATHS = ("%00", "a%00b", "%ED%A0%80", "%FF", "\N{FULLWIDTH DIGIT NINE}" * 20, str(HUGE), str(10**40), "x" * 5000)
TEXTS = (
    "%00",
    "a%00b",
    "%ED%A0%80",
    "%FF",
    str(HUGE),
    str(-HUGE - 1),
    str(10**40),
    "1e999",
    "nan",
    "99999-01-01",
    "x" * 3000,
)
DATES = ("99999999999", "0", "-1", "10000-01-01", "0000-00-00", "2024-02-31", "%00", "9999-12-31T23:59:59-23:59")
PARAMETERS = (  # of pages and of the API; what an address does not know it leaves alone or refuses
    *("q", "page", "page_size", "p", "o", "e", "s", "term", "set", "sets", "document", "documents", "source", "state"),
    *("message", "before", "around", "after", "from", "to", "since", "until", "day", "days", "range", "version", "old"),
    *("new", "chunk", "passage", "place", "external_id", "name", "code", "id", "next", "kind", "tenant", "user", "ids"),
    *(
        "_facets",
        "_popup",
        "_to_field",
        "all",
        "lang",
        "number",
        "entity",
        "relation",
        "subject",
        "run",
        "case",
        "sort",
    ),
)
LOOKUPS_OF_DATES = ("year", "month", "day", "gte", "lt", "exact", "date", "from", "to", "gte_0", "range__gte")
IN_FORMS = ("\x00", "a\x00b", str(HUGE), str(10**40), "99999-01-01", "x" * 3000)
JSON_TEXTS = ("\x00", "a\x00b", "\ud800", "x" * 100_000)
JSON_NUMBERS = (HUGE, -HUGE - 1, 10**40, 1e308, -1)


@pytest.fixture
def walk(shared_rows: Any, monkeypatch: pytest.MonkeyPatch) -> Walk:
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    return Walk(shared_rows(world_make), random.Random(5))


def root_of(walk: Walk) -> Person:
    """Who passes every door: others are refused before a value is looked at."""
    return next(one for one in walk.people if one.is_platform)


def some(walk: Walk, values: Any, number: int) -> list[Any]:
    found = list(values)
    return found if is_full() or len(found) <= number else walk.rng.sample(found, number)


class Sender:
    """Sends, takes back what was written, and notes faults of the server."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.root, self.faults, self.sent = walk, root_of(walk), [], 0

    def send(self, method: str, address: str, **more: Any) -> Any:
        with transaction.atomic():
            answer = self.walk.send(self.root, method, address, **more)
            transaction.set_rollback(True)
        self.sent += 1
        if answer.status >= 500:
            self.faults.append(f"{method} {address[:200]} {str(more)[:200]} → {answer.status} {answer.fault[-900:]}")
        return answer

    def finish(self, least: int) -> None:
        assert not self.faults, f"{len(self.faults)} faults\n" + "\n".join(self.faults[:25])
        assert self.sent >= least


def filled(aim: Aim, route: Route, bad: str, value: str) -> str:
    """The address of a route with objects that exist, and a bad value in the place of one parameter."""
    address = "/" + route.path
    for parameter, kind in route.parameters:
        good = aim.rng.choice(aim.ids[kind]) if kind else "1"
        chosen = value if parameter == bad else str(good)
        address = re.sub(rf"<(\w+:)?{parameter}>", lambda _, v=chosen: v, address, count=1)
    return address


def is_walked(route: Route) -> bool:
    return route.path not in SIGNING_IN and "stream" not in route.path


def test_in_paths(walk: Walk) -> None:
    sender, aim = Sender(walk), Aim(walk.rules.facts, walk.rng)
    values = cycle(IN_PATHS)
    for route in filter(is_walked, routes_all()):
        for parameter, _kind in some(walk, route.parameters, 1):
            for value in IN_PATHS if is_full() else [next(values)]:
                address = filled(aim, route, parameter, value)
                for method in ("get", "post") if value in ("%00", str(HUGE)) else ("get",):
                    answer = sender.send(method, address)
                    if "%00" in address and address.startswith(("/api/", "/v1/")):
                        assert set(json.loads(answer.body)) - DIFY_FIELDS == {"error"}, address
    sender.finish(800 if is_full() else 150)


def test_in_query_strings(walk: Walk) -> None:
    sender, aim = Sender(walk), Aim(walk.rules.facts, walk.rng)
    values = cycle(TEXTS)
    for route in some(walk, filter(is_walked, routes_all()), 70):
        address = filled(aim, route, "", "")
        for value in TEXTS if is_full() else [next(values)]:
            sender.send("get", f"{address}?" + "&".join(f"{name}={value}" for name in PARAMETERS))
        for name in some(walk, PARAMETERS, 1):
            sender.send("get", f"{address}?{name}={walk.rng.choice(TEXTS)}")
    sender.finish(500 if is_full() else 130)


def lookups(model: type[models.Model], name: str) -> Iterator[str]:
    """Parameters that a filter of a list may have."""
    field: Any = None
    for part in name.split("__"):
        if model is None:
            return
        field = next((one for one in model._meta.get_fields() if one.name == part), None)
        model = getattr(field, "related_model", None)
    yield from (f"{name}__exact", f"{name}__in", f"{name}__isnull", name)
    if isinstance(field, models.DateField):
        yield from (f"{name}__{one}" for one in LOOKUPS_OF_DATES)
    elif getattr(field, "related_model", None) is not None:
        yield from (f"{name}__id__exact", f"{name}__pk__in", f"{name}__isnull")


@pytest.mark.full
def test_in_filters_searches_and_orders_of_the_administration(walk: Walk) -> None:
    sender = Sender(walk)
    for model, page in admin.site._registry.items():
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        named = [one[0] if isinstance(one, tuple) else one for one in page.list_filter]
        plain = [one if isinstance(one, str) else getattr(one, "parameter_name", None) for one in named]
        dates = [field.name for field in model._meta.fields if isinstance(field, models.DateField)]
        wanted = {*filter(None, plain), *dates, *([page.date_hierarchy] if page.date_hierarchy else [])}
        for name in sorted(wanted):
            for lookup in some(walk, lookups(model, name), 1):
                is_date = name in dates
                for value in some(walk, DATES if is_date else TEXTS, 1):
                    sender.send("get", f"{address}?{lookup}={value}")
        tails = ("created__year=99999999999", "q=%00", f"p={10**40}", f"o={10**40}", "o=-1.%00", "id__exact=1e9")
        for tail in some(walk, tails, 2):
            sender.send("get", f"{address}?{tail}")
        sender.send("post", address, data={"action": "\x00", "_selected_action": [str(HUGE), "\x00"]})
    sender.finish(400 if is_full() else 200)


def test_in_forms(walk: Walk) -> None:
    sender, aim = Sender(walk), Aim(walk.rules.facts, walk.rng)
    values = cycle(IN_FORMS)
    for route in some(walk, filter(is_walked, routes_all()), 60):
        address = filled(aim, route, "", "")
        page = sender.send("get", address)
        fields = form_of(page.body) if page.status == 200 and "<form" in page.body else {}
        names = [*fields, *some(walk, PARAMETERS, 3)]
        for value in IN_FORMS if is_full() else [next(values)]:
            sender.send("post", address, data={**fields, **dict.fromkeys(names, value)})
            for name in some(walk, fields, 1):
                sender.send("post", address, data={**fields, name: value})
    sender.finish(400 if is_full() else 120)


def bodies(shape: Any, described: Any, depth: int = 0) -> Iterator[Any]:
    """Bodies of a schema, each with a bad value in one place."""
    shape = described["components"]["schemas"][shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape
    if depth > 4:
        return
    for one in (*shape.get("anyOf", ()), *shape.get("allOf", ()), *shape.get("oneOf", ())):
        yield from bodies(one, described, depth + 1)
    kind = shape.get("type")
    if kind == "string":
        yield from (*JSON_TEXTS, "99999-01-01", "9999-12-31T23:59:59-23:59")
    elif kind in ("integer", "number"):
        yield from JSON_NUMBERS
    elif kind == "array":
        yield from ([one] for one in bodies(shape.get("items", {}), described, depth + 1))
    elif kind == "object" or "properties" in shape:
        good = {name: sample(one, described) for name, one in shape.get("properties", {}).items()}
        needed = {name: value for name, value in good.items() if name in shape.get("required", ())}
        for name, one in shape.get("properties", {}).items():
            for bad in bodies(one, described, depth + 1):
                yield {**needed, name: bad}
        if not shape.get("properties"):
            yield from ({"a": one} for one in (*JSON_TEXTS, *JSON_NUMBERS))
            yield {"\x00": 1}


def sample(shape: Any, described: Any) -> Any:
    """Something that a field may hold."""
    shape = described["components"]["schemas"][shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape
    for one in (*shape.get("anyOf", ()), *shape.get("allOf", ()), *shape.get("oneOf", ())):
        return sample(one, described)
    if shape.get("enum"):
        return shape["enum"][0]
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}.get(shape.get("type"), "x")


@pytest.mark.parametrize("part", range(2))
def test_in_bodies_of_the_api(walk: Walk, part: int) -> None:
    sender, described = Sender(walk), merged_schema()
    for path, methods in sorted(described["paths"].items()):
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}) if method in ("post", "put", "patch") else {}
            if len(path) % 2 != part or "/rag/" in path or path.startswith("/v1/"):
                continue  # asking runs on the event loop: tests/api/test_schemathesis.py sends such bodies there
            address = re.sub(r"\{[^}]+\}", "1", path)
            is_cut = False
            for kind, body in content.items():
                for value in some(walk, bodies(body.get("schema", {}), described), 5):
                    text = json.dumps(value)
                    kind = "application/json" if kind.startswith("multipart") else kind
                    sender.send(method, address, data=text, content_type=kind)
                    if is_full() or not is_cut:
                        sender.send(method, address, data=f"[{text}", content_type=kind)
                        is_cut = True
    sender.finish(60 if is_full() else 45)


HEADERS = ("authorization", "accept-language", "user-agent", "referer", "origin", "last-event-id", "range")


def in_turn(number: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """All names; in the short form two of them, so that few addresses meet each name."""
    return names if is_full() else tuple(names[(2 * number + step) % len(names)] for step in (0, 1))


def test_in_cookies_and_headers(walk: Walk) -> None:
    sender, root = Sender(walk), root_of(walk)
    user = next(user for user in walk.world.people.values() if user.pk == root.pk)
    key = api_key_create(user=user, name="k")[1]
    addresses = ("/", "/admin/", "/api/v1/documents", "/sign-in", "/health")
    for number, address in enumerate(addresses):
        for name in in_turn(number, ("sessionid", "csrftoken", "django_language", "messages", "other")):
            for value in ('"\\000\\000\\000\\000\\000\\000\\000\\000"', "\xff" * 3, "x" * 3000, "'" * 40):
                client = Client(raise_request_exception=False, headers={"cookie": f"{name}={value}"})
                status = client.get(address).status_code
                assert status < 500, (address, name, value)
        for name in in_turn(number, HEADERS):
            for value in ("Bearer \x00", "\xff" * 300, "-" * 3000, str(10**40), "bytes=99999999999999999999-"):
                client = Client(raise_request_exception=False, headers={name: value})
                assert client.get(address).status_code < 500, (address, name, value)
                headers = {"authorization": f"Bearer {key}", name: value}
                assert Client(raise_request_exception=False, headers=headers).get(address).status_code < 500, name
    assert sender.faults == []
