"""Questions that are not questions: part numbers, abbreviations, operators, emoji, very long ones."""

from __future__ import annotations

import pytest

from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, scope_of

pytestmark = pytest.mark.django_db

TEXTS = {
    "sensor": "温度传感器的型号是 传感器-温度-TH01，量程为负四十到一百二十五度。",
    "other": "湿度传感器的型号是 传感器-湿度-TH02，安装在机柜的顶部，温度范围较小。",
    "spec": "The security architecture is described in 23501-g50, clause 5, of the release.",
    "older": "Clause 5 of 23501-f40 described an earlier architecture of the same release.",
    "amf": "AMF: the access and mobility management function registers terminals.",
    "smf": "The session management function selects a user plane function for terminals.",
}


@pytest.fixture
def search():
    owner = make_admin()
    ingest(owner, make_set("common", owners=[owner]), **TEXTS)

    def found(query):
        state = retrieve(scope=scope_of(owner), request=RetrievalRequest(query=query)).state
        return [candidate.passage.external_id for candidate in state.candidates]

    return found


def test_a_part_number_or_a_lone_abbreviation_is_found_first(search):
    first = {query: search(query)[0] for query in ("传感器-温度-TH01", "23501-g50", "AMF", "th01", "23501-G50")}

    assert first == {
        "传感器-温度-TH01": "sensor",
        "23501-g50": "spec",
        "AMF": "amf",
        "th01": "sensor",
        "23501-G50": "spec",
    }


def test_operators_punctuation_and_stop_words_are_answered_without_a_fault(search):
    for query in ("!a & (b | c):*", "'; DROP TABLE x; --", "<-> <2>", "{1:0.5}/3", "的 了 吗", "the of and", "？！。…"):
        assert isinstance(search(query), list)


def test_emoji_do_not_keep_the_words_beside_them_from_being_found(search):
    assert search("🚀🚀 AMF 😀")[0] == "amf"


@pytest.mark.parametrize("length", [2000, 8000])
def test_a_very_long_question_still_leads_to_its_passage(search, length):
    long = ("which clause of 23501-g50 describes the security architecture " * 200)[:length]

    assert "spec" in search(long)


def test_a_question_at_the_end_of_a_pasted_mail_is_answered_by_its_words(search):
    mail = " ".join(f"remark{n} concerning issue{n}," for n in range(80))

    assert search(f"{mail} so which clause of 23501-g50 describes the security architecture?")[0] == "spec"
