"""Source files through the whole pipeline: titles by path, passages by definition, found in two languages."""

from __future__ import annotations

import pytest

from knowledge.models import Chunk, Document
from knowledge.services import indexes_refresh
from tests.api.world import client_of
from tests.factories import run_job
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db

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


def asked(owner, query: str) -> list[dict]:
    answer = client_of(owner).post("/api/v1/rag/retrieve", {"query": query, "top_k": 5}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()["hits"]


def test_a_source_file_is_called_by_its_path_and_cut_by_its_definitions(documents):
    assert [Document.objects.get(pk=pk).title for pk in documents] == ["radio/cells/handover.py", "lamps.c"]
    chunks = Chunk.objects.filter(version__document=documents[0]).order_by("ordinal")
    assert list(chunks.values_list("heading_path", flat=True)) == [[], ["HandoverController"]]
    assert "```python lines=6-7\nclass HandoverController:" in chunks.last().text


@pytest.mark.parametrize(
    ("query", "symbol"),
    [
        ("rrc_setup_complete", "def rrc_setup_complete"),
        ("countFailedHandovers", "def countFailedHandovers"),
        ("how many handovers failed?", "def countFailedHandovers"),
        ("如何统计切换失败的次数？", "def countFailedHandovers"),
        ("lamp_on()", "void lamp_on"),
        ("which function switches a lamp on?", "void lamp_on"),
    ],
)
def test_a_function_is_found_by_its_name_and_by_questions_in_both_languages(owner, documents, query, symbol):
    assert symbol in asked(owner, query)[0]["content"]
