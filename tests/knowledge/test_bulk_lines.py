"""Lines of a bulk load while they wait, and what is told of refused ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.services import bulk_lines
from knowledge.services.bulk_lines import LineRefusal, LineSpool, Refusals, TooManyBadLinesError


@given(lines=st.lists(st.binary(max_size=40)), most=st.integers(1, 5), most_bytes=st.integers(1, 100))
def test_lines_come_back_in_order_in_batches_that_are_bounded(lines: list[bytes], most: int, most_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch, LineSpool() as spool:
        patch.setattr(bulk_lines, "BATCH_BYTES", most_bytes)
        for number, line in enumerate(lines, 1):
            spool.add(number, line)
        batches = list(spool.batches(most))

    assert [one for batch in batches for one in batch] == list(enumerate(lines, 1))
    assert all(0 < len(batch) <= most for batch in batches)
    assert all(sum(len(line) for _, line in batch[:-1]) < most_bytes for batch in batches)


@given(numbers=st.lists(st.integers(1, 5000), max_size=1500, unique=True))
def test_the_first_refused_lines_are_named_whatever_their_order(numbers: list[int]) -> None:
    refusals = Refusals()
    refusals.add(LineRefusal(number, "invalid_line", "bad") for number in numbers)

    assert [one.line for one in refusals.named] == sorted(numbers)[:100]
    assert refusals.count == len(numbers)
    if len(numbers) < 1000:
        refusals.raise_if_too_many()
    else:
        with pytest.raises(TooManyBadLinesError):
            refusals.raise_if_too_many()
