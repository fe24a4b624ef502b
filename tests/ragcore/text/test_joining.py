"""Consecutive passages as one text."""

from hypothesis import given
from hypothesis import strategies as st

from ragcore.chunking import HeadingTreeSplitter
from ragcore.options import ChunkingOptions
from ragcore.text.markdown import join_passages, overlap_length
from ragcore.types import Block, ParsedDocument
from tests.ragcore.chunking.counting import SimpleCounter


def test_what_the_next_passage_repeats_stands_once():
    text, starts = join_passages(["First one. Second one here.", "Second one here. Third one."])

    assert text == "First one. Second one here. Third one."
    assert [text[start:][:6] for start in starts] == ["First ", "Second"]


def test_passages_without_overlap_are_separate_paragraphs():
    assert join_passages(["One.", "Two."]) == ("One.\n\nTwo.", [0, 6])


def test_a_few_equal_characters_are_no_overlap():
    assert overlap_length("It ends here.", "here.") == 0


def test_a_table_goes_on_without_its_head():
    head = "Table 1: Timers\n\n| Timer | Value |\n|---|---|"
    first, second = f"{head}\n| T300 | 1 s |", f"{head}\n| T301 | 2 s |"

    text, starts = join_passages([first, second])

    assert text == f"{first}\n| T301 | 2 s |"
    assert text[starts[1] :] == "| T301 | 2 s |"


def test_another_table_keeps_its_head():
    first, second = "| A | B |\n|---|---|\n| 1 | 2 |", "| C | D |\n|---|---|\n| 3 | 4 |"

    assert join_passages([first, second])[0] == f"{first}\n\n{second}"


def test_nothing_is_nothing():
    assert join_passages([]) == ("", [])


words = st.text(alphabet="abcdefghij", min_size=2, max_size=9)


@given(st.lists(st.lists(words, min_size=3, max_size=9), min_size=1, max_size=60), st.floats(0, 0.4))
def test_cut_text_comes_together_again(sentences, share):
    """Whatever the splitter cut, with its overlap, is the text again, spaces apart."""
    text = " ".join(f"{' '.join(sentence).capitalize()} {n}." for n, sentence in enumerate(sentences))
    options = ChunkingOptions(min_tokens=32, max_tokens=64, overlap=share)
    document = ParsedDocument(blocks=(Block(kind="paragraph", text=text),))
    chunks = HeadingTreeSplitter(options, SimpleCounter()).split(document)

    whole, starts = join_passages([chunk.text for chunk in chunks])

    assert whole.split() == text.split()
    assert starts == sorted(starts)
