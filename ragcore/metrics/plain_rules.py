"""Plain rules that other evaluations of such products use, beside our own measures of the same."""

from __future__ import annotations

import re

from ragcore.labels import gettext_noop as _
from ragcore.metrics.registry import MeasuredCase, MetricTools, metric
from ragcore.text.matching import cosine, keywords, overlap
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import split_sentences
from ragcore.understanding.rewriting_rules import split_sub_questions

WITHOUT_CONTEXT = 0.5  # faithfulness of an answer without any source
SUPPORTED_FROM = 0.3  # share of a sentence's keywords in the sources
ANSWERED_FROM = 0.5  # share of an aspect's keywords in the answer
_MARKER = re.compile(r"\s?\[\d{1,4}\]")


def _has_answer(case: MeasuredCase) -> bool:
    return bool(case.answer) and not case.is_refused


@metric(
    "faithfulness_overlap",
    label=_("Faithfulness by shared words"),
    help=_("Share of sentences with 30 % of their keywords in the sources; 0.5 without sources."),
    order=41,
)
class FaithfulnessOverlap:
    """Share of the answer's sentences of which the sources have 30 % of the keywords; 0.5 for one without sources."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if not _has_answer(case):
            return None
        if not case.sources:
            return WITHOUT_CONTEXT
        context = "\n".join(source.text for source in case.sources)
        plain = _MARKER.sub("", case.answer or "")
        sentences = [text for text in split_sentences(plain) if keywords(text, tools.tokenizer)]
        if not sentences:
            return None
        supported = [overlap(text, context, tools.tokenizer) >= SUPPORTED_FROM for text in sentences]
        return sum(supported) / len(supported)


@metric(
    "relevance_cosine",
    label=_("Relevance by similarity"),
    help=_("(cosine of question and answer + 1) / 2."),
    order=42,
)
class RelevanceCosine:
    """(cos + 1) / 2 of question and answer, 0 to 1; None where the embedder cannot be trusted with the script."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        embedder = tools.embedder
        if not _has_answer(case) or embedder is None or embedder.trust(cjk_share(case.question)) <= 0:
            return None
        (question,) = embedder.embed_queries([case.question])
        (answer,) = embedder.embed_documents([_MARKER.sub("", case.answer or "")])
        return min(1.0, max(0.0, (float(cosine(question, answer)) + 1) / 2))


@metric(
    "completeness_aspects",
    label=_("Completeness by aspects"),
    help=_("Share of the parts of the question that the answer speaks of; needs no key points."),
    order=43,
)
class CompletenessAspects:
    """Share of the question's aspects that the answer speaks of: its sub-questions, else its keywords. 0 to 1."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        if case.answer is None or case.expects_refusal:
            return None
        parts = split_sub_questions(case.question) or keywords(case.question, tools.tokenizer)
        if not parts:
            return None
        if case.is_refused:
            return 0.0
        answered = [overlap(part, case.answer, tools.tokenizer) >= ANSWERED_FROM for part in parts]
        return sum(answered) / len(answered)
