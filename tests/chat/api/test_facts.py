"""Imported and extracted facts in answers: cited, within the asker's rights, and only where they answer."""

from __future__ import annotations

import io

import pytest
from django.test import Client
from django.urls import reverse

from accounts.selectors import scope_for
from chat.concurrency.executors import run_db
from chat.models import FactCitation, Message
from knowledge.models import Triple
from knowledge.services.triples import import_delete, triples_import
from tests.factories import make_set, make_user

BELGIUM = b"subject,relation,object\nBelgium,leader,Charles Michel\nBelgium,capital,Brussels\n"
QUESTION = "Who is the leader of Belgium?"
ABOUT_RA = b"subject,relation,object\nrandom access procedure,steps,7\nPRACH,carrier,satellite\n"


def facts_add(world, content=BELGIUM, *, into=None, name="countries.csv"):
    owner = (into or world.knowledge_set).owners.first()
    return triples_import(
        scope=scope_for(owner), actor=owner, lines=io.BytesIO(content), form="csv",
        set_id=(into or world.knowledge_set).pk, name=name,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["basic", "enhanced", "agentic", "ultimate"])
async def test_an_imported_fact_answers_in_every_mode(api, world, mode):
    await run_db(facts_add, world)

    answer = await api.generate(QUESTION, mode=mode, cache=False)

    assert answer["status"] == "answered"
    assert answer["answer"] == "The leader of Belgium is Charles Michel. [1]"
    [citation] = answer["citations"]
    assert citation["title"] == "fact, imported from countries.csv"
    assert (citation["chunk_id"], citation["document_id"]) == (None, None)
    assert citation["fact_id"] == (await run_db(Triple.objects.get, relation="leader")).pk
    assert citation["content"] == "The leader of Belgium is Charles Michel."
    assert answer["confidence"] > 0.7
    assert "fact, imported from countries.csv" in answer["formatted_citations"]
    assert await run_db(FactCitation.objects.count) == 1
