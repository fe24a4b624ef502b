"""What a question names and its sources lack: a code, a date, a property, a value, a thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from ragcore.answerability.asked_values import lacks_column, lacks_role, missing_kinds
from ragcore.answerability.unknown_things import unknown_things
from ragcore.ports import Tokenizer
from ragcore.text.asked_property import asked_property, asked_support, speaks_of
from ragcore.text.clauses import is_of_asker
from ragcore.text.codes import capital_names, codes_in, missing_codes
from ragcore.text.labels import missing_labels
from ragcore.text.named_dates import (
    NamedDate,
    asks_of_meeting,
    date_mentions,
    dates_not_in,
    definite_dates,
    is_of_meeting,
    lines_of_holding,
)
from ragcore.text.named_places import unknown_places
from ragcore.text.normalise import nfkc
from ragcore.text.question_type import question_type
from ragcore.text.value_kinds import ValueKind
from ragcore.types import Source

OTHER_DATES = 2  # of a document, from which its facts are of certain dates; one may tell when it was written
NEAR_SHARE = 0.5  # of the best source's score


def lacks_subject(
    question: str, sources: Sequence[Source], terms: Mapping[str, float], *, tokenizer: Tokenizer
) -> bool:
    """Whether a question is about a place or thing that neither the sources nor any searched passage speaks of.

    `terms`: those of the question that some passage has, with their weights.
    """
    texts = [_names_and_text(source) for source in sources]
    if question_type(question) != "comparison" and unknown_things(question, texts, terms, tokenizer):
        return True
    if lacks_role(question, sources, terms, tokenizer=tokenizer):
        return True
    return bool(unknown_places(question, texts, terms, tokenizer))


def lacks_code(question: str, sources: Sequence[Source]) -> bool:
    """Whether no source has a code or label that the question names; of compared things one may be there."""
    texts = [f"{s.passage.title}\n{s.passage.external_id}\n{s.text}" for s in sources]
    missing, is_comparison = missing_codes(question, texts), question_type(question) == "comparison"
    if missing and (len(missing) == len(codes_in(question)) or not is_comparison):
        return True
    return not is_comparison and bool(missing_labels(question, texts))


def lacks_named(
    question: str, sources: Sequence[Source], *, typed: str, today: date | None, tokenizer: Tokenizer
) -> bool:
    """Whether the sources lack a code, a label, a date or the property that the question names."""
    if lacks_code(question, sources) or lacks_date(typed, sources, today=today):
        return True
    property_word = asked_property(question)
    if lacks_column(question, sources, tokenizer=tokenizer) or _lacks_support(question, sources, tokenizer):
        return True
    return bool(property_word) and not any(
        speaks_of(text, property_word, tokenizer) for text in _texts_near(question, sources)
    )


def _lacks_support(question: str, sources: Sequence[Source], tokenizer: Tokenizer) -> bool:
    """Whether a question asks if a thing works with another one that no source speaks of: "run on Linux"."""
    thing = asked_support(question)
    return bool(thing) and not any(
        speaks_of(_names_and_text(source), thing.lower(), tokenizer, is_record=True) for source in sources
    )


def values_missing(question: str, sources: Sequence[Source], *, tokenizer: Tokenizer) -> tuple[ValueKind, ...]:
    """The kinds of values that a question asks for, where the sources tell none of them of its subject."""
    near = _texts_near(question, sources)
    return tuple(missing_kinds(question, sources, near=near, tokenizer=tokenizer))


def _texts_near(question: str, sources: Sequence[Source]) -> Sequence[str]:
    return _about_subject(question, [_names_and_text(source) for source in near_sources(sources)])


def _about_subject(question: str, texts: Sequence[str]) -> Sequence[str]:
    """Those of the texts that name what the question names, "RedCap"; all where none does, or it names nothing."""
    names = capital_names(nfkc(question))
    return [text for text in texts if any(name in text for name in names)] or texts


def near_sources(sources: Sequence[Source]) -> list[Source]:
    """Sources whose score is close to the best one's."""
    best = max((source.score for source in sources), default=0.0)
    return [source for source in sources if source.score >= NEAR_SHARE * best]


def lacks_date(question: str, sources: Sequence[Source], *, today: date | None) -> bool:
    """Whether no near source is of a day, month or year that the question names, where the best document is of others.

    Left out are limits ("before 2030"), what the asker does then, and the year of `today`: what holds now holds in it.
    Of several times one may be there.
    """
    plain = nfkc(question)
    dates = [mention.date for mention in definite_dates(question) if not is_of_asker(plain, mention.start, mention.end)]
    dates = [mention for mention in dates if today is None or mention != NamedDate(today.year)]
    sources_near = near_sources(sources)
    minutes = [s for s in sources_near if is_of_meeting(s.passage.title, s.text)] if asks_of_meeting(question) else []
    texts = [lines_of_holding(_names_and_text(source)) for source in minutes]
    if minutes and any(date_mentions(text) for text in texts):  # each names its day, and those of other things
        return _are_of_others(dates, texts)
    missing = dates_not_in(dates, [_names_and_text(source) for source in sources_near])
    if not missing or len(missing) < len(dates):
        return False
    best = min(sources, key=lambda source: source.number).passage
    texts = [source.text for source in sources if source.passage.document == best.document]
    dates_of_texts = {date_item.date for text in texts for date_item in date_mentions(text)}
    titles = {date_item.date for date_item in date_mentions(best.title)}
    return any(
        any(date.is_beside(date_item) for date_item in titles)
        or sum(date.is_beside(date_item) for date_item in dates_of_texts) >= OTHER_DATES
        for date in missing
    )


def _are_of_others(dates: Sequence[NamedDate], texts: Sequence[str]) -> bool:
    """Whether texts name other days than each of some dates, and none of these."""
    dates_of_texts = [mention.date for text in texts for mention in date_mentions(text)]
    is_missing = bool(dates) and len(dates_not_in(dates, texts)) == len(dates)
    return is_missing and any(date.is_beside(other) for date in dates for other in dates_of_texts)


def _names_and_text(source: Source) -> str:
    passage = source.passage
    return "\n".join((passage.title, passage.external_id, *passage.heading_path, source.text))
