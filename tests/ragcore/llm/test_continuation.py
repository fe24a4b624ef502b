import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragcore.llm.generators import ContinuationJoiner, RestartedError, overlap_length

BEFORE = "The procedure has four steps [1]. First the terminal sends a preamble, then the"


def join(before, *pieces):
    joint = ContinuationJoiner(before=before)
    return before + "".join(map(joint.feed, pieces)) + joint.flush()


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        ("sends a preamble, then the", "then the network answers", "sends a preamble, then the network answers"),
        ("sends a preamble, then the", " network answers", "sends a preamble, then the network answers"),
        ("sends a preamble, then the", "network answers", "sends a preamble, then the network answers"),
        ("sends a preamble, then ", "network answers", "sends a preamble, then network answers"),
        ("sends a preamble, then ", " then network", "sends a preamble, then network"),
        ("It is on", "one mast", "It is on one mast"),  # a shared letter is no repetition
        ("第一步发送前导码，然后", "然后网络应答。", "第一步发送前导码，然后网络应答。"),
        ("第一步发送前导码，", "网络应答。", "第一步发送前导码，网络应答。"),
        ("It has four steps [1", "] in all.", "It has four steps [1] in all."),
        ("It has these steps:", "- first\n- second", "It has these steps:\n- first\n- second"),
        ("It is done.", "Then it ends.", "It is done. Then it ends."),
        ("All said.", "All said.", "All said."),
        ("", "From nothing.", "From nothing."),
    ],
)  # fmt: skip
def test_two_texts_become_one(before, after, whole):
    assert join(before, after) == whole


def test_an_answer_that_is_given_again_in_full_goes_on_behind_itself():
    assert join(BEFORE, BEFORE + " network answers.") == BEFORE + " network answers."


def test_another_attempt_from_the_start_cannot_be_joined():
    with pytest.raises(RestartedError):
        join(BEFORE, "The procedure has four steps, which are these: " + "x" * 300)


@given(
    before=st.sampled_from([BEFORE, "短句", "然后 ", "", "x " * 200, "Ends so.\n"]),
    after=st.text(alphabet="ab 然后.\n-1", max_size=30),
    repeats=st.integers(0, 30),
    more=st.text(alphabet="ab 然后.\n", max_size=300),
    cuts=st.lists(st.integers(0, 330), max_size=6),
)
def test_however_the_second_text_is_cut_the_whole_is_the_same(before, after, repeats, more, cuts):
    text = (before[len(before) - repeats :] if repeats else "") + after + more
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in zip(places, places[1:], strict=False)]

    def outcome(*parts):
        try:
            return join(before, *parts)
        except RestartedError:
            return None

    assert outcome(*pieces) == outcome(text) == outcome(*text)


@given(
    words=st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=6, max_size=12), k=st.integers(2, 5)
)
def test_what_is_said_twice_stands_once(words, k):
    before, tail = " ".join(words), " ".join(words[-k:])
    assume(overlap_length(before, tail + " end") == len(tail))

    assert join(before, tail + " end") == before + " end"
