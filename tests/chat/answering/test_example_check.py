"""Whether an example question has an answer is known for the rights of who asks."""

from __future__ import annotations

import pytest

from accounts.selectors import scope_for
from chat.answering.example_check import known_verdicts, questions_check
from knowledge.services.readers import document_readers_set
from tests.factories import ingest, make_admin, make_set, make_user

pytestmark = pytest.mark.django_db
QUESTION = "How many tons does the crane lift?"


def test_a_verdict_of_somebody_on_a_list_of_readers_is_not_told_to_others():
    admin = make_admin()
    bea, carl = make_user("bea"), make_user("carl")
    document = ingest(admin, make_set("cranes", owners=[admin]), crane="The crane lifts seven tons.")["crane"]
    document_readers_set(scope=scope_for(admin), actor=admin, document_id=document.pk, users=["bea"], groups=[])

    seen = questions_check(scope=scope_for(bea), questions=[QUESTION])

    assert seen == {QUESTION: True}
    assert known_verdicts(scope=scope_for(bea), questions=[QUESTION]) == seen
    assert known_verdicts(scope=scope_for(carl), questions=[QUESTION]) == {}
    assert questions_check(scope=scope_for(carl), questions=[QUESTION]) == {QUESTION: False}
