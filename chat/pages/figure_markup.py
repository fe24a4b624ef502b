"""Pictures of cited passages as HTML."""

from __future__ import annotations

from collections.abc import Iterable

from django.template.loader import render_to_string

from chat.answers.figures import FigureLine


def figures_placed(figures: Iterable[FigureLine]) -> list[tuple[int, int, str]]:
    """Number of the source, place of the marker and markup of each, as `with_figures` takes them."""
    return [
        (figure.number, figure.place, render_to_string("chat/figure.html", {"figure": figure})) for figure in figures
    ]
