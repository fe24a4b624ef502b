"""Indexes the names of a version of a lexicon, then brings it into use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from django.db.models import F
from django.utils.translation import gettext_lazy as _

from knowledge import model_registry
from knowledge.indexes.lexicon_entries import PassageText, passage_texts, passages_with_parts, whole_terms_add
from knowledge.models import LexiconVersion
from knowledge.queue import BUILD_LEXICON
from knowledge.selectors.lexicon import lexicon_of_version
from knowledge.services.lexicon.publishing import (
    lexicon_version_building,
    lexicon_version_follow,
    lexicon_version_settle,
)
from knowledge.services.representations import indexed_text
from ragcore.text.lexicon import TermLexicon
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job, State

NAMES_AT_ONCE = 500
PASSAGES_AT_ONCE = 300  # in one transaction, which holds the lock of the tenant's statistics
WholeTerms = Mapping[int, Sequence[str]]  # chunk → terms


@job_kind
class BuildLexicon(JobKind):
    """One version. Names of the checkpoint are indexed; what is there already stays as it is when it is repeated."""

    name = BUILD_LEXICON
    label = _("Publishing of a lexicon")
    queue = "nightly"
    most_failures = 48  # with the longest delay more than a day: people wait for the version, and nothing else fails
    most_unknown_failures = 3
    ends_with_author = False

    def run(self, job: Job) -> Iterator[Checkpoint]:
        version_id = job.arguments["version_id"]
        version = LexiconVersion.objects.filter(pk=version_id, state=LexiconVersion.State.BUILDING).first()
        if version is None:
            return
        lexicon = lexicon_of_version(version)
        names = whole_names(lexicon)
        yield Checkpoint(total=len(names), write=partial(_write, version_id, names=len(names)))
        for start in range(job.checkpoint.get("names", 0), len(names), NAMES_AT_ONCE):
            batch = names[start : start + NAMES_AT_ONCE]
            for terms in _terms_of_passages(version, lexicon, batch):
                if "overtaken" in job.figures:
                    return
                yield Checkpoint(write=partial(_passages_write, version, terms))
            reached = start + len(batch)
            write = partial(_write, version_id, names_done=reached)
            yield Checkpoint(data={"names": reached}, done=reached, write=write)
        yield Checkpoint(write=partial(_settle, version_id), is_last=True)

    def state_changed(self, job: Job) -> None:
        lexicon_version_follow(
            version_id=job.arguments["version_id"],
            is_failed=job.state == State.FAILED,
            is_cancelled=job.state == State.CANCELLED,
        )

    def subject_words(self, job: Job) -> str:
        """Number of the version, and the name of its set."""
        version = LexiconVersion.objects.select_related("knowledge_set").filter(pk=job.arguments["version_id"]).first()
        if version is None:
            return ""
        home = version.knowledge_set
        return f"{home.shown_name} {version.number}" if home is not None else str(version.number)


def whole_names(lexicon: TermLexicon) -> list[str]:
    """Names that are terms of their own in the index."""
    return sorted({name for name in lexicon.all_names() if lexicon.whole_terms(name, _words(name))})


def _terms_of_passages(version: LexiconVersion, lexicon: TermLexicon, names: Sequence[str]) -> Iterator[WholeTerms]:
    """Terms that passages with some of the names get, some passages at a time."""
    tokenizer = model_registry.tokenizer()
    parts = [tuple(dict.fromkeys(tokenizer.terms(name))) for name in names]
    chunks = passages_with_parts(tenant_id=version.tenant_id, names=parts)
    for start in range(0, len(chunks), PASSAGES_AT_ONCE):
        texts = passage_texts(tenant_id=version.tenant_id, chunks=chunks[start : start + PASSAGES_AT_ONCE])
        terms = {text.chunk: whole for text in texts if (whole := _whole_terms(lexicon, text))}
        if terms:
            yield terms


def _whole_terms(lexicon: TermLexicon, passage: PassageText) -> list[str]:
    text = indexed_text(title=passage.title, heading_path=passage.heading_path, text=passage.text)
    return lexicon.whole_terms(text, _words(text))


def _words(text: str) -> list[str]:
    return model_registry.tokenizer().words(text)


def _write(version_id: int, **values: object) -> dict[str, bool]:
    """Progress of the version; it may have been overtaken by another one, or given up."""
    if lexicon_version_building(version_id=version_id) is None:
        return {"overtaken": True}
    LexiconVersion.objects.filter(pk=version_id).update(**values)
    return {}


def _passages_write(version: LexiconVersion, terms: WholeTerms) -> dict[str, bool]:
    if lexicon_version_building(version_id=version.pk) is None:
        return {"overtaken": True}
    changed = whole_terms_add(tenant_id=version.tenant_id, terms=terms)
    return _write(version.pk, passages=F("passages") + changed)


def _settle(version_id: int) -> None:
    if (version := lexicon_version_building(version_id=version_id)) is not None:
        lexicon_version_settle(version=version)
