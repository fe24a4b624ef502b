from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.services import tenant_ensure_default
from chat.models import StrategyStatistics
from chat.turns.strategy_statistics import strategy_count, strategy_figures, strategy_record
from chat.types import AnswerMetadata, AnswerRecord
from tests.factories import make_admin, make_tenant, make_user, scope_of


def record(strategy="direct", *, tenant=None, seconds=2.0, confidence=0.5, status="answered"):
    tenant_id = (tenant or tenant_ensure_default()).pk
    strategy_record(tenant_id=tenant_id, strategy=strategy, seconds=seconds, confidence=confidence, status=status)


def figures(scope, days=7):
    return {found.strategy: found for found in strategy_figures(scope=scope, days=days)}


def test_means_and_shares_of_a_strategy(db):
    record(seconds=1.0, confidence=0.9)
    record(seconds=3.0, confidence=0.5, status="refused")
    record(seconds=2.0, confidence=None, status="degraded")
    record("hyde", seconds=4.0, confidence=2.0)

    found = figures(scope_of(make_user()))

    direct = found["direct"]
    assert (direct.answers, direct.mean_seconds) == (3, 2.0)
    assert direct.mean_confidence == pytest.approx(1.4 / 3)
    assert (direct.refused_share, direct.degraded_share) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert found["hyde"].mean_confidence == 1.0
    assert list(found) == ["direct", "hyde"]


def test_quoted_answers_count_as_written_without_a_language_model_and_empty_ones_not_at_all(db):
    tenant_id = tenant_ensure_default().pk
    for model, status, text in (("extractive", "answered", "A."), ("big", "answered", "A."), ("", "stopped", "")):
        metadata = AnswerMetadata(strategy="direct", model=model)
        answer = AnswerRecord(text=text, html="", status=status, confidence=0.5, metadata=metadata)
        strategy_count(tenant_id=tenant_id, record=answer)

    direct = figures(scope_of(make_user()))["direct"]

    assert (direct.answers, direct.degraded_share) == (2, 0.5)


def test_a_day_has_one_row_and_every_further_answer_costs_one_statement(db):
    tenant = tenant_ensure_default()
    record(tenant=tenant)
    with CaptureQueriesContext(connection) as queries:
        record(tenant=tenant)

    assert len(queries) == 1
    assert StrategyStatistics.objects.get().answers == 2


@pytest.mark.django_db(transaction=True)
def test_answers_at_the_same_time_are_all_counted():
    tenant = tenant_ensure_default()

    def work(number):
        try:
            record(tenant=tenant, seconds=1.0)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))

    row = StrategyStatistics.objects.get()
    assert (row.answers, row.total_seconds) == (24, 24.0)


def test_a_period_counts_its_days_and_today(db):
    record()
    for days in (1, 6, 7, 29, 30):
        StrategyStatistics.objects.create(
            tenant=tenant_ensure_default(),
            strategy="direct",
            day=timezone.now().date() - timedelta(days=days),
            answers=10,
        )
    scope = scope_of(make_user())

    assert [figures(scope, days)["direct"].answers for days in (1, 7, 30)] == [1, 21, 41]


def test_figures_are_those_of_the_own_tenant_unless_one_administers_all(db):
    other = make_tenant("elsewhere")
    record()
    record("hyde", tenant=other)

    assert list(figures(scope_of(make_user()))) == ["direct"]
    assert list(figures(scope_of(make_admin(tenant=other)))) == ["hyde"]
    assert set(figures(scope_of(make_admin()))) == {"direct", "hyde"}


def test_a_long_name_is_cut_to_its_column(db):
    record("x" * 100)

    assert StrategyStatistics.objects.get().strategy == "x" * 32


def answered(**metadata):
    given = {"strategy": "direct", "total_time": 1.5, "cache": "none", **metadata}
    return AnswerRecord(text="", html="", status="answered", confidence=0.5, metadata=AnswerMetadata(**given))


def test_an_answer_is_counted_with_its_metadata_and_one_from_the_cache_is_not(db):
    tenant = tenant_ensure_default()

    strategy_count(tenant_id=tenant.pk, record=answered())
    strategy_count(tenant_id=tenant.pk, record=answered(cache="exact"))
    strategy_count(tenant_id=tenant.pk, record=answered(strategy=None))

    row = StrategyStatistics.objects.get()
    assert (row.answers, row.total_seconds, row.confidence_sum) == (1, 1.5, 0.5)


def test_a_statement_that_fails_is_logged_and_the_transaction_around_it_goes_on(db, caplog):
    with transaction.atomic():
        with connection.execute_wrapper(_refusing):
            strategy_count(tenant_id=tenant_ensure_default().pk, record=answered())
        assert StrategyStatistics.objects.count() == 0

    assert "missing in the figures" in caplog.text


@pytest.mark.parametrize("way", [{}, {"strategy": "adaptive"}])
async def test_figures_that_cannot_be_stored_do_not_fail_an_answer(api, monkeypatch, way):
    def refused(**values):
        raise DatabaseError("the table is gone")

    monkeypatch.setattr("chat.turns.strategy_statistics.strategy_record", refused)

    answer = await api.generate("How many steps does the random access procedure have?", **way)

    assert answer["status"] == "answered"


def _refusing(execute, sql, params, many, context):
    """A database that refuses to write figures, so that the transaction is aborted as PostgreSQL does it."""
    if "UPDATE" in sql and StrategyStatistics._meta.db_table in sql:
        return execute("SELECT 1 / 0", None, False, context)
    return execute(sql, params, many, context)
