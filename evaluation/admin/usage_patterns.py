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
    "cosine": _("similarity of question and answer"),
    "aspects": _("share of the question's keywords in the answer"),
}
SHORTCOMINGS = {
    "short": _("shorter than 50 words"),
    "irrelevant": _("hardly about the question"),
    "without_examples": _("without an example"),
    "unsupported": _("with sentences that no source supports"),
    "unstructured": _("long and without headings, lists or tables"),
    "uncited": _("without a source"),
    "inaccurate": _("called wrong in a comment"),
}
ADVICE = {
    "short": _("Ask the owners for more detailed documents, or choose the style “Report”."),
    "irrelevant": _("Look at the causes of these cases: a synonym or a question at a passage often helps."),
    "without_examples": _("Name examples in the answer template of the set."),
    "unsupported": _("Choose the style “Precise”, or another language model."),
    "unstructured": _("Ask for points and tables in the answer template of the set."),
    "uncited": _("Look at the threshold of refusals, and at the causes of these cases."),
    "inaccurate": _("Compare these answers with their sources; owners correct or replace the documents."),
}
TYPES = {
    "definition": _("What something is"),
    "process": _("How something is done"),
    "comparison": _("A comparison"),
    "application": _("What something is used for"),
    "general": pgettext_lazy("kind of question", "Other"),
}


def patterns_of(viewer: Viewer, period: Range) -> RatingPatterns:
    """Within the person's rights; the questions of a range."""
    return rating_patterns(viewer.votes(period))


def patterns_shown(patterns: RatingPatterns) -> dict[str, Any]:
    """For the template."""
    return {
        "found": patterns,
        "correlations": [(FIGURES.get(pattern.feature, pattern.feature), pattern) for pattern in patterns.correlations],
        "shortcomings": [
            (
                SHORTCOMINGS[pattern.name],
                ADVICE[pattern.name],
                round(100 * pattern.share_poor),
                round(100 * pattern.share_others),
                pattern,
            )
            for pattern in patterns.shortcomings
        ],
        "distribution": list(enumerate(patterns.distribution, start=1)) if patterns.judgements else [],
        "types": [(TYPES.get(pattern.name, pattern.name), pattern) for pattern in patterns.types],
    }


def pattern_rows(patterns: RatingPatterns) -> Iterator[Sequence[Any]]:
    """Lines of the file: name of a figure, of what, value."""
    for pattern in patterns.correlations:
        yield "correlation_with_score", pattern.feature, round(pattern.value, 3)
        yield "correlation_low", pattern.feature, round(pattern.low, 3)
        yield "correlation_high", pattern.feature, round(pattern.high, 3)
    for each in patterns.shortcomings:
        yield "share_of_poor_answers", each.name, round(each.share_poor, 3)
        yield "share_of_other_answers", each.name, round(each.share_others, 3)
    for score, number in enumerate(patterns.distribution, start=1):
        yield "judgements_with_score", score, number
    for day in patterns.series:
        yield "mean_score_of_day", day.day, round(day.mean, 2)
    for kind in patterns.types:
        yield "mean_score_of_type", kind.name, round(kind.mean, 2)
