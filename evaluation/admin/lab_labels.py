"""Labels of the lab in the reader's language: stages, fates of passages, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.services.lab_types import Fate, Where
from knowledge.models import Document
from knowledge.services import merging
from ragcore.options import RetrievalOptions, option_fields
from ragcore.retrieval.pipeline import stage_infos

ARM_WORDS: Mapping[str, Any] = {
    "lexical": gettext_lazy("words (BM25)"),
    "coarse": gettext_lazy("meaning, 384"),
    "dense": gettext_lazy("meaning, 768"),
    "title": gettext_lazy("likeness of the title"),
}
FEATURE_WORDS: Mapping[str, Any] = {
    "bm25_relative": gettext_lazy("words, by the best passage"),
    "bm25_absolute": gettext_lazy("words, by the whole question"),
    "dense": gettext_lazy("meaning"),
    "dense_relative": gettext_lazy("meaning, by the best passage"),
    "coarse": gettext_lazy("meaning, first half"),
    "coverage": gettext_lazy("share of the question's words"),
    "rare_coverage": gettext_lazy("share of its rare words"),
    "title_coverage": gettext_lazy("in title and headings"),
    "window": gettext_lazy("words close together"),
    "narrow_window": gettext_lazy("words very close together"),
    "adjacency": gettext_lazy("neighbouring words in order"),
    "longest_run": gettext_lazy("longest literal piece"),
    "first_match": gettext_lazy("how early the rarest word stands"),
    "length": gettext_lazy("length of the passage"),
    "body": gettext_lazy("words in the text alone"),
}
VIA_WORDS: Mapping[str, Any] = {
    "summary": gettext_lazy("its summary"),
    "window": gettext_lazy("a part of it"),
    "question": gettext_lazy("a question that it answers"),
    "caption": gettext_lazy("the caption of a picture"),
    "table": gettext_lazy("a table as sentences"),
    "title": gettext_lazy("its title"),
}
NOTE_WORDS: Mapping[str, Any] = {
    "alpha": gettext_lazy("weight of meaning"),
    "formula": gettext_lazy("by the length of the question"),
    "trust": gettext_lazy("at most, for this script"),
    "shift": gettext_lazy("moved by the profile"),
    "style": gettext_lazy("by the style of the answer"),
    "lexical": gettext_lazy("by words"),
    "coarse": gettext_lazy("by meaning"),
    "dense": gettext_lazy("by meaning, closer"),
    "reranker": gettext_lazy("reranker"),
    "gap": gettext_lazy("gap"),
    "cut_after": gettext_lazy("cut after"),
    "corrections": gettext_lazy("read as"),
    "factor": gettext_lazy("factor"),
    "raw": gettext_lazy("score before"),
    "why": gettext_lazy("because of"),
    "by": gettext_lazy("decided by"),
    "boosted": gettext_lazy("passages moved"),
    "matched": gettext_lazy("in common"),
    "documents": gettext_lazy("documents"),
    "most": gettext_lazy("at most"),
    "titles": gettext_lazy("titles like the question"),
    "title": gettext_lazy("by title"),
    "not_looked_at": gettext_lazy("words not looked at"),
    "left_alone": gettext_lazy("left alone"),
    "compared": gettext_lazy("compared"),
    "dropped": gettext_lazy("dropped"),
    "joined": gettext_lazy("passages joined"),
    "cliff": gettext_lazy("a cliff from"),
    "low": gettext_lazy("low below"),
    "below": gettext_lazy("score after it"),
    "instead_of": gettext_lazy("instead of"),
    "error": gettext_lazy("error"),
    "queries": gettext_lazy("asked as"),
    "places": gettext_lazy("places for each"),
}
VALUE_WORDS: Mapping[str, Any] = {  # what notes hold besides numbers
    "formula": gettext_lazy("the length of the question"),
    "style": gettext_lazy("the style of the answer"),
    **{
        name: gettext_lazy(option_fields(RetrievalOptions)[name].option.label)
        for name in ("vector_weight", "vector_weight_zh", "vector_weight_en")
    },
    "a long question": gettext_lazy("a long question"),
    "title": gettext_lazy("its title"),
    "recent set": gettext_lazy("a knowledge set asked lately"),
    "department": gettext_lazy("department"),
    "product": gettext_lazy("product"),
    "role": gettext_lazy("role"),
    "interest": gettext_lazy("interest"),
}


def stage_label(stage: str) -> str:
    """The label of a stage; its name where there is no such stage (any more)."""
    if stage == merging.STAGE:
        return _("forms of the question")
    info = stage_infos().get(stage)
    return _(info.label) if info else stage


def ranking_label(name: str) -> str:
    """The label of a ranking: of a search arm, or of the stage that declares the ranking."""
    declared = (info.label for info in stage_infos().values() if info.ranking == name)
    return str(ARM_WORDS.get(name) or _(next(declared, name)))


def named(words: Mapping[str, Any], name: str) -> str:
    """A word of a table, or the bare name."""
    return str(words.get(name) or name.replace("_", " "))


def value_label(text: str) -> str:
    """A text of a note: `interest: RAN` with its first part in words, a known word, or the text as it is."""
    first, colon, rest = text.partition(": ")
    return f"{VALUE_WORDS[first]}{colon}{rest}" if first in VALUE_WORDS else text


def fate_label(fate: Fate) -> str:
    """What became of a passage, as a sentence without its full stop."""
    values = {"place": fate.place, "limit": fate.limit, "stage": stage_label(fate.stage)}
    if fate.kind == "dropped":
        return _dropped(fate, values)
    return str(_KINDS[fate.kind]) % values


_KINDS: Mapping[str, Any] = {
    "found": gettext_lazy("place %(place)s of the result"),
    "merged": gettext_lazy("read together with the passage at place %(place)s"),
    "not_fine": gettext_lazy("found by the first search, but not among the best by words or by meaning after it"),
    "not_coarse": gettext_lazy("not found by the first search, neither by words nor by meaning"),
    "not_indexed": gettext_lazy("not in the index: it has no text to find, or its owners took it out of searches"),
    "not_live": gettext_lazy("not in the index: the document is not live"),
    "not_asked": gettext_lazy("outside of the chosen knowledge sets or filters"),
    "not_theirs": gettext_lazy("not visible to the person in whose place you ask"),
    "not_yours": gettext_lazy(
        "you may open it because you manage it, but your searches do not touch it: you are no reader of its sets"
    ),
}


def _dropped(fate: Fate, values: Mapping[str, Any]) -> str:
    if fate.limit is not None:
        if fate.stage in ("fuse.rsf", "rank.single_arm"):
            return _("place %(place)s after the fusion; the best %(limit)s went on") % values
        if fate.stage == "cutoff.top_k":
            return _("place %(place)s; the best %(limit)s are the result") % values
        return _("place %(place)s after “%(stage)s”; the best %(limit)s went on") % values
    reason = _reason(fate)
    if fate.place is None:
        return _("dropped at “%(stage)s”: %(reason)s") % {**values, "reason": reason}
    return _("place %(place)s, then dropped at “%(stage)s”: %(reason)s") % {**values, "reason": reason}


def _reason(fate: Fate) -> str:
    if fate.beside is not None:
        said = _("it repeats the passage at place %(place)s") if "repeats" in fate.reason else _KINDS["merged"]
        return str(said) % {"place": fate.beside}
    if fate.stage == merging.STAGE:
        return _("not among the best of all forms of the question")
    info = stage_infos().get(fate.stage)
    return _(info.drop_reason) if info and info.drop_reason else fate.reason


def where_labels(where: Where) -> list[str]:
    """Why a document did not come, with the scores that it would have needed."""
    fate = where.fate
    sentences = [fate_label(fate)]
    if fate.kind == "not_live":
        sentences = [f"{fate_label(fate)} ({Document.State(fate.reason).label})"]
    if fate.kind in ("not_fine", "not_coarse") and where.rows:
        sentences += [_score_label(arm, where) for arm in ("lexical", "coarse", "dense")]
    return [sentence for sentence in sentences if sentence]


def _score_label(arm: str, where: Where) -> str:
    """An arm's score of the best passage beside that of the last one which it let through."""
    place, lowest = where.rows[0].rankings.get(arm), where.lowest.get(arm)  # type: ignore[call-overload]
    if place is None:
        return ""
    values = {"ranking": ranking_label(arm), "score": f"{place.score:.3g}", "lowest": f"{lowest or 0:.3g}"}
    if arm == "lexical" and place.score <= 0:
        return _("it holds none of the question's words")
    if lowest is None:
        return _("%(ranking)s: %(score)s; this search did not rank by it") % values
    if place.rank is not None:
        return _("%(ranking)s: %(score)s, place %(place)s of that ranking") % {**values, "place": place.rank}
    return _("%(ranking)s: %(score)s; the last one that got in had %(lowest)s") % values
