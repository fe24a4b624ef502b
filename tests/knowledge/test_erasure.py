"""Names of somebody who is erased, in what sources said of readers and in what others were told."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.privacy.erase import person_erase
from knowledge.models import Document
from knowledge.selectors.readers import readers_of
from knowledge.services.access_requests import access_request_create
from knowledge.services.erasure import name_replaced
from tests.accounts.test_privacy import places_of
from tests.factories import make_admin, make_set, make_user, scope_of
from tests.knowledge.handlers.test_security import Wiki

NAME = "mei.unmistakable"


@pytest.mark.django_db
def test_a_name_that_a_source_gave_goes_and_lets_in_nobody_else() -> None:
    """Names stay with the document, so that a mapping can be applied again, and in what others were told."""
    root, person, wiki = make_admin("root"), make_user(NAME), Wiki()
    scope = scope_of(wiki.owner)
    make_user("li")
    says = f"ann; user:{NAME}，nobody"
    document = wiki.send(acl=says)
    assert readers_of(scope=scope, document=document)[1].users == ("ann", NAME)  # type: ignore[union-attr]
    access_request_create(
        scope=scope_of(person), actor=person, set_id=make_set("closed", visibility="members", owners=[wiki.owner]).pk
    )
    wiki.send(acl=["li", f"group:{NAME}"])  # a group of this name is unknown: its owner is told
    wiki.send(acl=says)
    assert {"knowledge_document", "notifications_notification"} <= set(places_of(NAME))

    pseudonym = person_erase(user=person, actor=root)

    document.refresh_from_db()
    assert document.handled["security"]["acl"] == says.replace(NAME, pseudonym)
    assert readers_of(scope=scope, document=document)[1].users == ("ann",)  # type: ignore[union-attr]
    make_user(NAME)  # somebody else of that name, later
    wiki.send("Another text.")
    document.refresh_from_db()
    assert readers_of(scope=scope, document=document)[1].users == ("ann",)  # type: ignore[union-attr]
    assert Document.objects.get().source_readers is not None


@pytest.mark.parametrize(
    ("value", "replaced"),
    [
        ("mei", "x"),
        ("li, Mei；user:mei\nmeier", "li, x；user:x\nmeier"),
        (["mei ", "group:mei", 7, None], ["x ", "group:mei", 7, None]),
        ({"mei": ["user: mei"]}, {"x": ["user:x"]}),
        ("", ""),
    ],
)
def test_a_name_is_replaced_wherever_it_is_one_of_several(value: Any, replaced: Any) -> None:
    assert name_replaced(value, "mei", "x") == replaced
