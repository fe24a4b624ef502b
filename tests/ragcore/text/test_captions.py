"""A caption is said once: by the picture or by the line below it."""

from __future__ import annotations

from ragcore.extractive.sentences import _pieces
from ragcore.text.markdown import captions_once

CAPTION = "Figure 3: Topology of the backhaul network in the northern region."


def test_a_picture_whose_words_the_text_says_is_left_out():
    text = f"The rings are closed.\n\n![Figure 3: Topology of the backhaul](picture:p1.png)\n\n{CAPTION}"

    assert captions_once(text).split("\n\n") == ["The rings are closed.", "", CAPTION]


def test_a_picture_that_alone_says_something_keeps_its_words():
    text = "The rings are closed.\n\n![Figure 4: Power](picture:p1.png)\n\n![Figure 4: Power](picture:p2.png)"

    assert captions_once(text).count("Figure 4: Power") == 1


def test_what_an_answer_can_quote_has_each_caption_once():
    text = f"![Figure 3: Topology of the backhaul network](picture:p1.png)\n\n{CAPTION}\n\nThe rings are closed."

    assert [piece.text for piece in _pieces(text)] == [CAPTION, "The rings are closed."]
