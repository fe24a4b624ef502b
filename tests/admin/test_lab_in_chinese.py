"""The lab in Chinese: its page mixes no languages."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from chat.models import Conversation, Message
from evaluation.models import GoldenSet
from tests.docs.test_pages_in_chinese import english_in
from tests.factories import ingest, make_admin, make_set

# names of rankings, of measures and of people; stems and words of the question
SAME = {"BM25", "RSF", "idf", "ms", "A", "B", "TS"}


@pytest.fixture
def keeper(db):
    return make_admin("管理员")


def test_the_page_with_everything_on_it_is_in_one_language(keeper):
    own = make_set("k1", name="规范", owners=[keeper])
    texts = {f"文{n}": f"# 安全阀\n\n安全阀在{n}巴时开启。弹簧把阀瓣压在阀座上。" for n in range(4)}
    documents = ingest(keeper, own, **texts)
    GoldenSet.objects.create(tenant=keeper.tenant, name="评测")
    conversation = Conversation.objects.create(tenant=keeper.tenant, user=keeper)
    chunks = [document.live_version.chunks.get().pk for document in documents.values()]
    trace = {"candidates": [{"chunk_id": pk, "score": 1.0} for pk in chunks]}
    message = Message.objects.create(conversation=conversation, question="安全阀何时开启？", state="done", trace=trace)
    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(keeper)
    query = {
        "q": "安全阀何时开启？",
        "set": own.pk,
        "compare": "on",
        "a-retrieval.top_k": "2",
        "b-retrieval.vector_weight": "0.5",
        "find": "文3",
        "message": message.pk,
    }

    with translation.override("zh-hans"):
        answers = [
            client.get(reverse("admin:evaluation_lab"), query),
            client.get(reverse("admin:evaluation_lab")),
            client.get(reverse("admin:evaluation_lab_apply"), {**query, "which": "a"}),
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [english_in(answer.content) - SAME for answer in answers] == [set(), set(), set()]
