"""What stands beside an answer: kind of question, plan, what the sources cover, what other sets have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.answers.source_lines import SET_GAP, SourceLine
from chat.models import Message

MOST_FURTHER = 3  # sources of other sets that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSummary:
    """In the reader's language; "" or () where there is nothing to say."""

    kind: str  # of the question
    plan: str  # how it was searched for, and what was looked for
    coverage: str  # "3 documents on 2 topics"
    unmentioned: Sequence[str]  # words of the question that no cited source has
    further: Sequence[SourceLine]  # the best sources of sets that the answer does not cite


def summary_of(message: Message, sources: Sequence[SourceLine]) -> AnswerSummary:
    """The summary of an answer with its sources as the reader may see them."""
    reasoning = message.trace.get("reasoning", {})
    cue = reasoning.get("query_analysis", {}).get("cue", "")
    is_answer = message.status != "search_results"
    cited = [source for source in sources if is_answer and source.cited and source.readable]
    return AnswerSummary(
        kind=_kinds().get(cue, ""),
        plan=_plan(message, cue),
        coverage=_coverage(cited),
        unmentioned=tuple(reasoning.get("unmentioned_words", ())) if cited else (),
        further=tuple(_further(cited, sources)) if cited else (),
    )


def _plan(message: Message, cue: str) -> str:
    """In one sentence; "" where nothing was searched, or an earlier answer was shown."""
    reasoning, metadata = message.trace.get("reasoning", {}), message.metadata
    if not metadata.get("chunks_found") or metadata.get("cache", "none") not in ("", "none"):
        return ""
    rounds = int(reasoning.get("iterations") or 1)
    wordings = 1 + len(metadata.get("rewritten_queries") or ())
    if rounds > 1:
        searched = ngettext("Search in %(n)s round", "Search in %(n)s rounds", rounds) % {"n": rounds}
    elif wordings > 1:
        searched = ngettext("One search in %(n)s wording", "One search in %(n)s wordings", wordings) % {"n": wordings}
    else:
        searched = _("One search")
    form = _wanted().get(cue)
    return _("%(search)s, for %(wanted)s") % {"search": searched, "wanted": form} if form else searched


def _coverage(cited: Sequence[SourceLine]) -> str:
    if not cited:
        return ""
    documents = len({source.title for source in cited})
    topics = len(_topics(cited))
    document_count = ngettext("%(n)s document", "%(n)s documents", documents) % {"n": documents}
    if topics < 2:
        return document_count
    about = ngettext("%(n)s topic", "%(n)s topics", topics) % {"n": topics}
    return _("%(documents)s on %(topics)s") % {"documents": document_count, "topics": about}


def _further(cited: Sequence[SourceLine], sources: Sequence[SourceLine]) -> list[SourceLine]:
    """The best uncited source of each document whose sets are all others than those of the cited ones."""
    topics = _topics(cited)
    by_title: dict[str, SourceLine] = {}
    for source in sources:
        if not source.cited and source.readable and source.sets and not topics & _topics([source]):
            by_title.setdefault(source.title, source)
    return list(by_title.values())[:MOST_FURTHER]


def _topics(sources: Sequence[SourceLine]) -> set[str]:
    return {name for source in sources for name in source.sets.split(SET_GAP) if name}


def _kinds() -> dict[str, str]:
    return {
        "definition": _("What something is"),
        "process": _("How something is done"),
        "comparison": _("A comparison"),
        "application": _("What something is used for"),
    }


def _wanted() -> dict[str, str]:
    """What the plan looks for, by the cue of the question."""
    return {
        "definition": _("its definition"),
        "process": _("the steps"),
        "comparison": _("a description of each"),
        "application": _("what it is used for"),
    }
