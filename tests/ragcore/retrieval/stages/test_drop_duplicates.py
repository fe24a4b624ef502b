"""Of passages that say the same the best one stays."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ragcore.retrieval.stages.selection import DropDuplicates
from tests.ragcore.states import passage, ports, ranked_with

TEXT = (
    "The remote radio unit is fed from the site battery. The operator checks the cable and the earth rail before the "
    "unit is switched on. After the start the unit reports its state to the controller, which keeps it for the report. "
)
OTHER = "Carrier aggregation combines several component carriers to raise the data rate of one terminal in the cell. "


def state_of(*texts, **fields):
    """Candidates 1, 2, … with these texts, best first."""
    state = ranked_with(*range(1, len(texts) + 1))
    loaded = zip(state.candidates, texts, strict=True)
    return replace(
        state, candidates=tuple(replace(c, passage=replace(passage(c.chunk, text), **fields)) for c, text in loaded)
    )


def drops_of(state):
    return [(drop.chunks, drop.stage, drop.reason) for drop in state.drops]


def test_the_same_text_in_two_documents_is_shown_once_and_the_reason_names_it():
    state = DropDuplicates()(state_of(TEXT, OTHER, TEXT), ports())

    assert state.ids() == [1, 2]
    assert drops_of(state) == [((3,), "drop.duplicates", "repeats passage 1")]
    assert state.pending_note == {"compared": 3, "dropped": 1}


def test_each_drop_names_the_passage_that_it_repeats():
    state = DropDuplicates()(state_of(TEXT, OTHER, OTHER.replace(" ", "  "), TEXT.replace(" ", "\n"), TEXT), ports())

    assert drops_of(state) == [
        ((3,), "drop.duplicates", "repeats passage 2"),
        ((4, 5), "drop.duplicates", "repeats passage 1"),
    ]


def test_a_passage_that_stands_in_a_better_one_is_dropped():
    assert DropDuplicates()(state_of(f"{OTHER} {TEXT}", TEXT), ports()).ids() == [1]


def test_a_longer_passage_that_says_more_stays():
    assert DropDuplicates()(state_of(TEXT, f"{OTHER} {TEXT}"), ports()).ids() == [1, 2]


def test_passages_that_differ_in_a_number_or_a_not_stay():
    texts = [f"{TEXT} It takes {n} minutes." for n in (5, 6)] + [f"{TEXT} It is{no} allowed." for no in ("", " not")]

    assert DropDuplicates()(state_of(*texts), ports()).ids() == [1, 2, 3, 4]


def test_a_short_answer_below_another_heading_is_another_answer():
    state = state_of("Not supported.", "Not supported.")
    first, second = state.candidates
    asked = replace(first, passage=replace(first.passage, heading_path=("Roaming",)))
    other = replace(second, passage=replace(second.passage, heading_path=("Handover",)))

    assert DropDuplicates()(replace(state, candidates=(asked, other)), ports()).ids() == [1, 2]


def test_a_stricter_measure_keeps_more():
    state = state_of(TEXT * 2, (TEXT * 2).replace("keeps it", "stores it", 1))

    assert DropDuplicates(similarity=0.9)(state, ports()).ids() == [1]
    assert DropDuplicates(similarity=1.0)(state, ports()).ids() == [1, 2]


def test_only_as_many_as_are_shown_are_compared():
    state = DropDuplicates(keep=2)(state_of(TEXT, TEXT, OTHER, TEXT, TEXT), ports())

    assert state.ids() == [1, 3, 4, 5]
    assert state.pending_note == {"compared": 3, "dropped": 1}


def test_candidates_without_passages_stay():
    assert DropDuplicates()(ranked_with(1, 2, 3), ports()).ids() == [1, 2, 3]


def test_nothing_stays_nothing():
    assert DropDuplicates()(state_of(), ports()).ids() == []


KINDS = (TEXT, OTHER, TEXT.replace("the report", "report 5"), "x")


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from([" ", "\n", "  "])), max_size=12))
def test_the_best_of_every_kind_stays_in_its_place_and_once(given):
    state = DropDuplicates(keep=50)(state_of(*(kind.replace(" ", space) for kind, space in given)), ports())

    kept = state.ids()
    assert kept == sorted(kept)
    assert [given[n - 1][0] for n in kept] == list(dict.fromkeys(kind for kind, _ in given))
    assert DropDuplicates(keep=50)(state, ports()).ids() == kept
