"""Source files through the whole pipeline: titles by path, passages by definition, found in two languages."""

from __future__ import annotations

import pytest

from knowledge.models import Chunk, Document
from knowledge.services import indexes_refresh
from tests.api.world import client_of
from tests.factories import run_job
from tests.knowledge.uploads import upload

HANDOVER = '''"""Handover of a connection between two cells."""

LIMIT = 3


class HandoverController:
    """Decides when a connection moves."""

    def rrc_setup_complete(self, message):
        """Store the setup message of the terminal and start its timer."""
        self.messages.append(message)

    def countFailedHandovers(self):
        # 统计切换失败的次数
        return sum(1 for one in self.messages if one.failed)
'''
LAMPS = """/* Lamps of the front panel. */

/* Switch a lamp on. */
void lamp_on(int lamp)
{
    write_port(lamp, 1);
}
"""

CONTROLLER, LAMP = ["HandoverController"], ["lamp_on"]
QUESTIONS = {
    "rrc_setup_complete": CONTROLLER,
    "countFailedHandovers": CONTROLLER,
    "how many handovers failed?": CONTROLLER,
    "如何统计切换失败的次数？": CONTROLLER,
    "lamp_on()": LAMP,
    "which function switches a lamp on?": LAMP,
}


@pytest.fixture
def documents(owner, common):
    done = [
        upload(owner, common, name="handover.py", content=HANDOVER.encode(), external_id="radio/cells/handover.py"),
        upload(owner, common, name="lamps.c", content=LAMPS.encode()),
    ]
    for one in done:
        run_job(one.job.pk)
    indexes_refresh()
    return [one.document.pk for one in done]


@pytest.mark.django_db
def test_a_source_file_is_called_by_its_path_and_cut_by_its_definitions(documents):
    assert [Document.objects.get(pk=pk).title for pk in documents] == ["radio/cells/handover.py", "lamps.c"]
    chunks = Chunk.objects.filter(version__document=documents[0]).order_by("ordinal")
    assert list(chunks.values_list("heading_path", flat=True)) == [[], ["HandoverController"]]
    assert "```python lines=6-7\nclass HandoverController:" in chunks.last().text


@pytest.mark.django_db(transaction=True)
def test_functions_are_found_over_rest_by_their_names_and_by_questions_in_both_languages(owner, documents):
    client = client_of(owner)
    hits = {
        query: client.post("/api/v1/rag/retrieve", {"query": query, "top_k": 5}, format="json").json()["hits"]
        for query in QUESTIONS
    }

    assert {query: hits[query][0]["heading_path"] for query in hits} == QUESTIONS
    assert "def countFailedHandovers" in hits["如何统计切换失败的次数？"][0]["content"]
