"""Labels of the lab in the reader's language: stages, fates of passages, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.services.lab.types import Fate, Where
from knowledge.models import Document
from knowledge.services import merging
from ragcore.answering.pipeline import answer_stage_infos
from ragcore.options import RetrievalOptions, option_fields
from ragcore.retrieval.pipeline import stage_infos

ARM_WORDS: Mapping[str, Any] = {
    "lexical": gettext_lazy("keyword (BM25)"),
    "coarse": gettext_lazy("semantic (384-d)"),
    "dense": gettext_lazy("semantic (768-d)"),
    "title": gettext_lazy("title similarity"),
}
FEATURE_WORDS: Mapping[str, Any] = {
    "bm25_relative": gettext_lazy("keyword, relative to best passage"),
    "bm25_absolute": gettext_lazy("keyword, relative to the question"),
    "dense": gettext_lazy("semantic"),
    "dense_relative": gettext_lazy("semantic, relative to best passage"),
    "coarse": gettext_lazy("semantic, first half"),
    "coverage": gettext_lazy("share of query terms"),
    "rare_coverage": gettext_lazy("share of rare terms"),
    "title_coverage": gettext_lazy("in the title"),
    "window": gettext_lazy("terms close together"),
    "narrow_window": gettext_lazy("terms very close together"),
    "adjacency": gettext_lazy("adjacent terms in order"),
    "longest_run": gettext_lazy("longest exact match"),
    "first_match": gettext_lazy("position of the rarest term"),
    "length": gettext_lazy("passage length"),
    "body": gettext_lazy("terms in the body only"),
    "across": gettext_lazy("in the other language"),
    "across_dense": gettext_lazy("semantic, in the other language"),
    "across_relative": gettext_lazy("semantic, in the other language, relative to best passage"),
    "across_coverage": gettext_lazy("names and numbers, in the other language"),
    "sentence": gettext_lazy("semantic, nearest sentence"),
    "sentence_relative": gettext_lazy("semantic, nearest sentence, relative to best passage"),
    "across_sentence": gettext_lazy("semantic, nearest sentence in the other language"),
    "across_sentence_relative": gettext_lazy(
        "semantic, nearest sentence in the other language, relative to best passage"
    ),
}
VIA_WORDS: Mapping[str, Any] = {
    "summary": gettext_lazy("summary"),
    "window": gettext_lazy("part of it"),
    "question": gettext_lazy("an answered question"),
    "caption": gettext_lazy("image caption"),
    "table": gettext_lazy("table as sentences"),
    "name": gettext_lazy("file name or folder"),
    "title": gettext_lazy("title"),
}
NOTE_WORDS: Mapping[str, Any] = {
    "alpha": gettext_lazy("semantic weight"),
    "formula": gettext_lazy("by question length"),
    "trust": gettext_lazy("maximum for this script"),
    "shift": gettext_lazy("adjusted by profile"),
    "style": gettext_lazy("by answer style"),
    "lexical": gettext_lazy("by keyword"),
    "coarse": gettext_lazy("by semantics"),
    "dense": gettext_lazy("by semantics, second stage"),
    "reranker": gettext_lazy("reranker"),
    "gap": gettext_lazy("gap"),
    "cut_after": gettext_lazy("kept up to"),
    "corrections": gettext_lazy("read as"),
    "factor": gettext_lazy("factor"),
    "raw": gettext_lazy("score before"),
    "why": gettext_lazy("because of"),
    "by": gettext_lazy("decided by"),
    "boosted": gettext_lazy("passages moved"),
    "matched": gettext_lazy("in common"),
    "documents": gettext_lazy("documents"),
    "most": gettext_lazy("maximum"),
    "titles": gettext_lazy("title matches"),
    "names": gettext_lazy("file name or folder"),
    "title": gettext_lazy("by title"),
    "not_looked_at": gettext_lazy("terms not checked"),
    "left_alone": gettext_lazy("untouched"),
    "compared": gettext_lazy("compared"),
    "dimensions": gettext_lazy("numbers of each vector"),
    "dropped": gettext_lazy("dropped"),
    "joined": gettext_lazy("merged passages"),
    "cliff": gettext_lazy("gap threshold"),
    "low": gettext_lazy("low-score threshold"),
    "below": gettext_lazy("score after the gap"),
    "instead_of": gettext_lazy("instead of"),
    "error": gettext_lazy("error"),
    "queries": gettext_lazy("query"),
    "places": gettext_lazy("slots for each"),
    "moved": gettext_lazy("passages moved"),
}
VALUE_WORDS: Mapping[str, Any] = {  # what notes hold besides numbers
    "formula": gettext_lazy("question length"),
    "style": gettext_lazy("answer style"),
    "vector_weight": gettext_lazy(option_fields(RetrievalOptions)["vector_weight"].option.label),
    "a long question": gettext_lazy("long question"),
    "title": gettext_lazy("title"),
    "recent set": gettext_lazy("recently used knowledge set"),
    "department": gettext_lazy("department"),
    "product": gettext_lazy("product"),
    "role": gettext_lazy("role"),
    "interest": gettext_lazy("interest"),
}

_KINDS: Mapping[str, Any] = {
    "found": gettext_lazy("rank %(place)s of the result"),
    "merged": gettext_lazy("merged with the passage at rank %(place)s"),
    "not_fine": gettext_lazy("found in the first stage, but not among the best by keyword or semantics after it"),
    "not_coarse": gettext_lazy("not found in the first stage, neither by keyword nor by semantics"),
    "not_indexed": gettext_lazy("not in the index: it has no text, or its owners excluded it from search"),
    "not_live": gettext_lazy("not in the index: the document is not searchable"),
    "not_asked": gettext_lazy("outside the chosen knowledge sets or filters"),
    "not_theirs": gettext_lazy("not visible to the user you ask as"),
    "not_yours": gettext_lazy(
        "you can open it because you manage it, but it is not in your searches: you are not a member of its sets"
    ),
}


def stage_label(stage: str) -> str:
    """The label of a stage; its name where there is no such stage (any more)."""
    if stage == merging.STAGE:
        return _("query variants")
    info = stage_infos().get(stage) or answer_stage_infos().get(stage)
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


def _dropped(fate: Fate, values: Mapping[str, Any]) -> str:
    if fate.limit is not None:
        if fate.stage in ("fuse.rsf", "rank.single_arm"):
            return _("rank %(place)s after fusion; the best %(limit)s were kept") % values
        if fate.stage == "cutoff.top_k":
            return _("rank %(place)s; the best %(limit)s are the result") % values
        return _("rank %(place)s after “%(stage)s”; the best %(limit)s were kept") % values
    reason = _reason(fate)
    if fate.place is None:
        return _("dropped at “%(stage)s”: %(reason)s") % {**values, "reason": reason}
    return _("rank %(place)s, then dropped at “%(stage)s”: %(reason)s") % {**values, "reason": reason}


def _reason(fate: Fate) -> str:
    if fate.beside is not None:
        words = _("duplicate of the passage at rank %(place)s") if fate.code == "repeats" else _KINDS["merged"]
        return str(words) % {"place": fate.beside}
    if fate.stage == merging.STAGE:
        return _("not among the best of any query variant")
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
        return _("contains none of the query terms")
    if lowest is None:
        return _("%(ranking)s: %(score)s; not used for ranking here") % values
    if place.rank is not None:
        return _("%(ranking)s: %(score)s, rank %(place)s") % {**values, "place": place.rank}
    return _("%(ranking)s: %(score)s; cut-off was %(lowest)s") % values
