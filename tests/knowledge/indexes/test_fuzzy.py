"""Words and titles that look like given ones, among what the asker may see."""

import pytest
from django.db import connection

from knowledge.backends.postgres import ScopedFuzzyIndex
from knowledge.indexes import fuzzy
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Document, Term
from knowledge.selectors import documents_askable
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.knowledge.indexes.test_plans import indexes_used, many_make, visible  # noqa: F401 (a fixture)
from tests.knowledge.owned_rows import owned

pytestmark = pytest.mark.django_db

PREAMBLE = "The terminal sends a preamble on the random access channel of the BTS3900."
ZH = "终端等待随机接入响应。基站回复随机接入响应。"


def index_of(user):
    scope = scope_of(user)
    return ScopedFuzzyIndex(scope, visible_sql(documents_askable(scope=scope)))


def test_only_words_of_visible_passages_count_as_seen(owner, common):
    ingest(owner, common, open=PREAMBLE)
    ingest(owner, common, clearance=3, secret="The codename is Zanzibar.")
    low = index_of(make_user(clearance=0))

    assert low.unseen(["preambl", "zanzibar", "nowher"]) == {"zanzibar", "nowher"}
    assert index_of(owner).unseen(["preambl", "zanzibar", "nowher"]) == {"nowher"}


def test_a_correction_never_tells_a_word_of_a_hidden_passage(owner, common):
    member = make_user()
    ingest(owner, common, open=PREAMBLE)
    ingest(owner, common, clearance=3, secret="The codename is Zanzibar.")
    ingest(owner, make_set("closed", owners=[owner], members=[member], visibility="members"), closed="Mozambique")

    for stranger in (make_user(clearance=0), make_user(tenant=make_tenant())):
        assert index_of(stranger).alike(["zanzibra", "mozambiqe"], limit=2) == {}
    assert set(index_of(owner).alike(["zanzibra", "mozambiqe"], limit=2)) == {"zanzibra", "mozambiqe"}
    assert set(index_of(make_user(clearance=4)).alike(["zanzibra", "mozambiqe"], limit=2)) == {"zanzibra"}
    assert "mozambiqu" in index_of(member).alike(["mozambiqe"], limit=2)["mozambiqe"]


def test_characters_are_read_from_visible_passages_only(owner, common):
    ingest(owner, common, open=ZH)
    ingest(owner, common, clearance=3, secret="随机接收响应，随机接收响应，随机接收响应。")
    place = {"before": "机接", "after": "响应", "limit": 2}

    assert index_of(make_user(clearance=0)).between(["机接", "响应"], **place) == {"入": 1}
    assert set(index_of(owner).between(["机接", "响应"], **place)) == {"入", "收"}
    assert index_of(owner).between(["机接", "没有"], **place) == {}


def test_titles_of_hidden_documents_are_not_found(owner, common):
    documents = ingest(owner, common, open=PREAMBLE) | ingest(owner, common, clearance=3, secret="nothing else")
    Document.objects.filter(pk=documents["open"].pk).update(title="Random access procedure")
    Document.objects.filter(pk=documents["secret"].pk).update(title="Random access secrets")
    low, high = index_of(make_user(clearance=0)), index_of(owner)

    assert {hit.document for hit in low.titles("random acess procedur", least=0.6)} == {documents["open"].pk}
    assert {hit.document for hit in high.titles("random access secrets", least=0.9)} == {documents["secret"].pk}
    assert low.titles("random access secrets", least=0.9) == []


def test_terms_that_no_live_passage_has_any_more_are_not_suggested(owner, common):
    ingest(owner, common, open=PREAMBLE)
    Term.objects.filter(text="preambl").update(frequency=0)

    assert index_of(owner).alike(["preambel"], limit=2) == {}


def test_a_failing_look_up_leaves_the_transaction_usable(owner, monkeypatch):
    monkeypatch.setattr(fuzzy, "SEEN", "SELECT no_such_function(%(tenant)s)")

    with pytest.raises(Exception, match="no_such_function"):
        index_of(owner).unseen(["word"])

    assert Term.objects.count() == 0


# ── EXPLAIN ─────────────────────────────────────────────────────────────────────────────────────

TERMS = """
INSERT INTO knowledge_term (tenant_id, language, text, frequency)
SELECT id, 'en', md5(n::text), 1 FROM accounts_tenant, generate_series(1, 20000) n
"""
TITLES = """
INSERT INTO knowledge_document (tenant_id, source_id, external_id, sha256, title, state, clearance, tags, metadata,
    handled, series, is_whole, error_code, error_message, error_data, weight, ratings, created, updated)
SELECT tenant_id, source_id, 'filler' || n, md5(n::text), md5(n::text), 'live', 0, '{}', '{}', '{}', '', false, '', '',
    '{}', 1, 0, now(), now()
FROM knowledge_document, generate_series(1, 20000) n
"""


def large_rows(owner, common):
    """A document among twenty thousand titles and terms, so that the planner has something to plan."""
    ingest(owner, common, a=PREAMBLE)
    with connection.cursor() as cursor:
        cursor.execute(TERMS)
        cursor.execute(TITLES)
        cursor.execute("ANALYZE knowledge_term, knowledge_document")
    return visible_sql(documents_askable(scope=scope_of(owner)))


large_make = owned(large_rows)


@pytest.fixture
def large(kept_rows):
    """For tests that start from `large_make`."""
    return kept_rows[2]


@pytest.mark.starts_from(make=large_make)
def test_similar_terms_come_from_the_trigram_index(owner, large):
    params = {"tenant": owner.tenant_id, "words": ["premabl"], "limit": 5}

    assert "knowledge_term_trgm" in indexes_used(fuzzy.NEAR_TERMS, params)


@pytest.mark.starts_from(make=large_make)
def test_near_titles_come_from_the_trigram_index(owner, large):
    params = {**large.params, "tenant": owner.tenant_id, "text": "random access procedure", "titles": 3, "passages": 40}

    assert "knowledge_document_title_trgm" in indexes_used(fuzzy.NEAR_TITLES.format(visible=large.sql), params)


@pytest.mark.starts_from(make=large_make)
@pytest.mark.usefixtures("large")
def test_pairs_are_looked_up_by_text(owner):
    used = indexes_used(fuzzy.PAIR_IDS, {"tenant": owner.tenant_id, "pairs": ["机接"]})

    assert "knowledge_term_once" in used


@pytest.mark.starts_from(make=many_make)
def test_words_are_looked_up_by_text_and_their_passages_by_lexeme(visible):  # noqa: F811 (the fixture)
    tenant = Term.objects.values_list("tenant", flat=True).first()
    params = {**visible.params, "tenant": tenant, "words": ["alpha"], "common": 1000}

    used = indexes_used(fuzzy.SEEN.format(visible=visible.sql), params)

    assert {"knowledge_term_once", "knowledge_entry_lexemes"} <= used


@pytest.mark.starts_from(make=many_make)
def test_passages_with_both_pairs_come_from_gin(visible):  # noqa: F811 (the fixture)
    params = {**visible.params, "terms": "1 & 2", "pattern": "机(.)", "read": 200, "limit": 2}

    assert "knowledge_entry_lexemes" in indexes_used(fuzzy.BETWEEN.format(visible=visible.sql), params)
