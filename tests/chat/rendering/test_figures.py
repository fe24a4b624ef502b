"""Figures behind the blocks that cite them."""

from __future__ import annotations

import pytest

from chat.rendering import render_markdown
from chat.rendering.figures import with_figures

FIGURE = "<figure>F</figure>"


def shown(text: str, number: int = 1, place: int = 0) -> str:
    html = render_markdown(text, citations={1, 2}, with_places=True)
    return with_figures(html, [(number, place, FIGURE)])


@pytest.mark.parametrize(
    ("text", "place", "before", "after"),
    [
        ("First [1].\n\nSecond.", 0, "</p>", "\n<p>Second"),
        ("First [1].\n\nSecond [1].\n\nThird.", 1, "</p>", "\n<p>Third"),
        ("- one [1]\n- two", 0, "</button>", "</li>\n<li>two"),
        ("1. one\n   - inner [1]\n2. two", 0, "</ul>\n", "</li>\n<li>two"),
        ("| a | b |\n|---|---|\n| x [1] | y |\n\nEnd.", 0, "</table>", "\n<p>End"),
        ("> quoted [1]\n\nEnd.", 0, "</blockquote>", "\n<p>End"),
        ("## Head [1]\n\nText.", 0, "</h2>", "\n<p>Text"),
    ],
)
def test_a_figure_stands_behind_the_block_with_its_marker(text, place, before, after):
    html = shown(text, place=place)

    head, _figure, tail = html.partition(FIGURE)
    assert head.endswith(before)
    assert tail.startswith(after)


def test_a_marker_that_is_elsewhere_or_nowhere():
    assert shown("A [1].\n\nB [2].", number=2, place=7).endswith(f"</p>{FIGURE}\n")
    assert shown("A [1].\n\nB.", number=2).endswith(f"</p>\n{FIGURE}")


def test_without_figures_nothing_changes_and_several_keep_their_order():
    html = render_markdown("A [1]. B [2].\n\nC.", citations={1, 2})

    assert with_figures(html, []) == html
    assert "</p><i>1</i><i>2</i>\n<p>C" in with_figures(html, [(1, 0, "<i>1</i>"), (2, 1, "<i>2</i>")])


def test_a_break_within_a_paragraph_ends_nothing():
    assert with_figures(
        '<p>a<br/>b<button class="cite" data-cite="1">1</button><br>c</p>\n', [(1, 0, FIGURE)]
    ).endswith(f"</p>{FIGURE}\n")
