"""What indexes take, computed, and the page that shows it."""

from pathlib import Path

import pytest
from django.db import connection

from bench.scale.memory import PARTS, halfvec, pgvector_hnsw, sparsevec, table

ROOT = Path(__file__).resolve().parents[2]
ROWS = 1200
FILL = """
CREATE TEMPORARY TABLE sized AS
SELECT (
    SELECT array_agg(random() - 0.5 + 0 * n * i) FROM generate_series(1, %(dimensions)s) i
)::vector::halfvec(%(dimensions)s) AS v
FROM generate_series(1, %(rows)s) n
"""


def test_the_page_shows_what_the_script_computes():
    assert table() in (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.django_db
@pytest.mark.parametrize("dimensions", [384, 768])
def test_the_formula_of_hnsw_is_right_within_a_tenth(dimensions):
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"dimensions": dimensions, "rows": ROWS})
        cursor.execute(
            "CREATE INDEX sized_hnsw ON sized USING hnsw (v halfvec_cosine_ops) WITH (m = 32, ef_construction = 64)"
        )
        cursor.execute("SELECT pg_relation_size('sized_hnsw')")
        size = cursor.fetchone()[0]

    assert size / ROWS == pytest.approx(pgvector_hnsw(dimensions, 32), rel=0.1)  # levels are drawn at random


@pytest.mark.django_db
def test_vectors_take_what_is_said():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_column_size(array_fill(1, ARRAY[384])::vector::halfvec), "
            "pg_column_size('{1:1,2:1,3:1}/1000000000'::sparsevec)"
        )
        assert cursor.fetchone() == (halfvec(384), sparsevec(3))


def test_every_part_has_a_size_and_a_formula():
    assert all(part.bytes_each > 0 and part.formula for part in PARTS)
