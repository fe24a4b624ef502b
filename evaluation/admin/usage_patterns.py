"""What goes with votes, in words, for the page of use and quality and its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from feedback.dashboard import Range, Viewer
from feedback.rating_patterns import RatingPatterns, rating_patterns

FIGURES = {
    "words": _("length of the answer"),
    "citations": _("cited sources"),
    "confidence": _("confidence"),
    "relevance": _("relevance of the best quotation"),
    "seconds": _("seconds until the answer was complete"),
    "length": _("length of the question"),
    "terms": _("technical terms in the answer"),
    "numbers": _("figures in the answer"),
    "examples": _("gives an example"),
    "structure": _("headings, lists or tables"),
    "unmentioned": _("words of the question that the sources lack"),
    "support": _("share of supported sentences"),
}
SHORTCOMINGS = {
    "short": _("shorter than 50 words"),
    "irrelevant": _("hardly about the question"),
    "without_examples": _("without an example"),
    "unsupported": _("with sentences that no source supports"),
    "unstructured": _("long and without headings, lists or tables"),
    "uncited": _("without a source"),
}
ADVICE = {
    "short": _("Ask the owners for more detailed documents, or choose the style “Report”."),
    "irrelevant": _("Look at the causes of these cases: a synonym or a question at a passage often helps."),
    "without_examples": _("Name examples in the answer template of the set."),
    "unsupported": _("Choose the style “Precise”, or another language model."),
    "unstructured": _("Ask for points and tables in the answer template of the set."),
    "uncited": _("Look at the threshold of refusals, and at the causes of these cases."),
}
TYPES = {
    "definition": _("What something is"),
    "process": _("How something is done"),
    "comparison": _("A comparison"),
    "application": _("What something is used for"),
    "general": pgettext_lazy("kind of question", "Other"),
}


def patterns_of(viewer: Viewer, within: Range) -> RatingPatterns:
    """Within the person's rights; the questions of a range."""
    return rating_patterns(viewer.votes(within))


def patterns_shown(found: RatingPatterns) -> dict[str, Any]:
    """For the template."""
    return {
        "found": found,
        "correlations": [(FIGURES.get(one.feature, one.feature), one) for one in found.correlations],
        "shortcomings": [
            (SHORTCOMINGS[one.name], ADVICE[one.name], round(100 * one.share_poor), round(100 * one.share_others), one)
            for one in found.shortcomings
        ],
        "types": [(TYPES.get(one.name, one.name), one) for one in found.types],
    }


def pattern_rows(found: RatingPatterns) -> Iterator[Sequence[Any]]:
    """Lines of the file: name of a figure, of what, value."""
    for one in found.correlations:
        yield "correlation_with_score", one.feature, round(one.value, 3)
        yield "correlation_low", one.feature, round(one.low, 3)
        yield "correlation_high", one.feature, round(one.high, 3)
    for each in found.shortcomings:
        yield "share_of_poor_answers", each.name, round(each.share_poor, 3)
        yield "share_of_other_answers", each.name, round(each.share_others, 3)
    for kind in found.types:
        yield "mean_score_of_type", kind.name, round(kind.mean, 2)
