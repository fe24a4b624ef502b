"""Long texts are counted by a table, short ones piece by piece: the same, whatever the text."""

from hypothesis import given
from hypothesis import strategies as st

from ragcore.text import piece_costs
from ragcore.text.piece_costs import fitting_end, text_cost

PARTS = st.sampled_from(
    [" ", "  ", "\t", "\n", "\r\n", "a", "Abc", "ABC", "12", "1234", "，", "·", "的", "龘", "々", "😀", "\U00020001"]
    + ["\u3000", "\xa0", "é", "—", ".", "e.g. ", "字。", "\x0b", "한"]
)
TEXTS = st.lists(PARTS, min_size=60, max_size=400).map("".join)


def piece_by_piece(text: str) -> int:
    return sum(map(piece_costs._cost, piece_costs._PIECE.findall(text)))


@given(TEXTS)
def test_the_table_says_what_the_pieces_cost(text):
    assert text_cost(text) == piece_by_piece(text)


@given(TEXTS, st.integers(0, 3_000))
def test_a_cut_is_where_the_next_piece_would_cost_too_much(text, most):
    end = fitting_end(text, most)

    assert piece_by_piece(text[:end]) <= most or end == 0
    if end < len(text):
        following = next(piece for piece in piece_costs._PIECE.finditer(text) if piece.end() > end)
        assert piece_by_piece(text[: following.end()]) > most


def test_every_character_of_the_table_costs_what_it_costs_alone():
    for code in (
        0x80,
        0xA0,
        0x3005,
        0x3007,
        0x4E00,
        0x9F98,
        0xF900,
        0xFF0C,
        0xFFFF,
        0x1F600,
        0x20000,
        0x3134F,
        0x31350,
    ):
        assert text_cost(chr(code) * 200) == 200 * piece_costs._cost(chr(code)), hex(code)
