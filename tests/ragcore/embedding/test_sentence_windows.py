"""Every sentence stands once in a window, behind its head."""

from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.sentence_windows import HEAD_TOKENS, WINDOW_TOKENS, windows_of

MOST = 100
HEADED = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 140)), max_size=30)


@given(HEADED)
def test_every_sentence_once_and_in_order(sizes):
    heads = [[1] * 3 if name == "a" else [2] * (HEAD_TOKENS + 5) for name, _size in sizes]
    sentences = [[100 + at] * size for at, (_name, size) in enumerate(sizes)]

    found = list(windows_of(heads, sentences, most=MOST))

    assert [span.sentence for window in found for span in window.spans] == list(range(len(sizes)))
    for window in found:
        assert len(window.tokens) <= MOST
        assert len(window.tokens) <= WINDOW_TOKENS or len(window.spans) == 1
        for span in window.spans:
            head, own = heads[span.sentence][:HEAD_TOKENS], sentences[span.sentence]
            read = list(window.tokens[span.start : span.stop])
            assert list(window.tokens[: len(head)]) == head
            assert len(read) > 0
            assert read == own[: len(read)] if own else read == head


def test_neighbours_share_a_window_until_it_is_full():
    heads, sentences = [[1]] * 5, [[2] * 20] * 5

    assert [len(window.spans) for window in windows_of(heads, sentences, most=MOST)] == [3, 2]
