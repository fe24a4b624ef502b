"""Query adapters as values: applied, packed, refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.query_adapter import QueryAdapter, adapter_unpack
from ragcore.errors import AdapterRefusedError


def adapter(seed=0, *, dimensions=16, rank=4, slope=1.0, level=0.0):
    random = np.random.default_rng(seed)
    arrays = (
        random.standard_normal(shape).astype(np.float32) * 0.2 for shape in ((dimensions, rank), (rank, dimensions))
    )
    down, up = arrays
    return QueryAdapter(down=down, up=up, shift=random.standard_normal(dimensions).astype(np.float32) * 0.1,
                        slope=slope, level=level)  # fmt: skip


def questions(seed=1, number=5, dimensions=16):
    rows = np.random.default_rng(seed).standard_normal((number, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(0, 2**32 - 1))
def test_what_it_yields_has_unit_length_and_survives_packing(seed):
    one = adapter(seed)
    plain = questions(seed)
    moved = one.apply(plain)

    again = adapter_unpack(one.pack(), dimensions=16).apply(plain)

    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(again, moved, atol=5e-3)  # stored as float16


def test_a_question_of_which_nothing_is_left_keeps_its_own_vector():
    plain = questions(number=1)
    gone = QueryAdapter(down=np.zeros((16, 1), np.float32), up=np.zeros((1, 16), np.float32), shift=-plain[0])

    np.testing.assert_array_equal(gone.apply(plain), plain)


@given(st.lists(st.floats(-1, 1), min_size=2), st.floats(0.1, 4), st.floats(-0.5, 0.5))
def test_the_plain_scale_keeps_the_order(cosines, slope, level):
    one = adapter(slope=slope, level=level)
    scaled = [one.on_plain_scale(cosine) for cosine in sorted(cosines)]

    assert scaled == sorted(scaled)
    assert all(-1 <= value <= 1 for value in scaled)


def test_vectors_of_another_length_are_refused():
    with pytest.raises(AdapterRefusedError, match="fitted for 16 dimensions"):
        adapter_unpack(adapter().pack(), dimensions=768)
    with pytest.raises(AdapterRefusedError, match="dimensions"):
        adapter().apply(questions(dimensions=8))


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"PK\x03\x04 no archive",
        adapter().pack()[:200],
        adapter().pack()[:-300],
        QueryAdapter(down=np.full((16, 2), np.inf, np.float32), up=np.zeros((2, 16), np.float32),
                     shift=np.zeros(16, np.float32)).pack(),
        adapter(slope=-1.0).pack(),
    ],
    ids=["empty", "no archive", "cut short", "without its end", "infinite", "turns the order round"],
)  # fmt: skip
def test_what_is_damaged_is_refused(packed):
    with pytest.raises(AdapterRefusedError) as refused:
        adapter_unpack(packed, dimensions=16)
    assert refused.value.reason == "damaged"
