"""Names by their beginning."""

from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.sorted_names import SortedNames

WORDS = st.text(alphabet="abAB载波 ", min_size=1, max_size=5)


@given(st.lists(WORDS, max_size=30), WORDS, st.integers(0, 5))
def test_the_shortest_longer_names_are_found_whatever_their_case(names, part, most):
    found = SortedNames.of(names).beginning_with(part, most=most)

    folded = part.casefold()
    right = {name for name in names if name.casefold().startswith(folded) and name.casefold() != folded}
    assert len(found) == min(most, len(right))
    assert set(found) <= right
    lengths = sorted(len(name.casefold()) for name in right)
    assert [len(name.casefold()) for name in found] == lengths[: len(found)]
