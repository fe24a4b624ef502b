"""Reads documents and suggests terms for a lexicon."""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.scope import Scope
from accounts.selectors import scope_for
from knowledge import model_registry
from knowledge.indexes.reader_lists import EVERYBODY_GROUP
from knowledge.models import Document, DocumentVersion, KnowledgeSet, LexiconTerm
from knowledge.queue import MINE_TERMS
from knowledge.selectors.documents import documents_askable
from knowledge.selectors.sets import sets_readable
from knowledge.services.lexicon.mining import MinedLexicon, MiningOptions, suggestions_store
from knowledge.services.lexicon.model_filter import model_scored
from ragcore.errors import RagError
from ragcore.text.mining.candidates import (
    TermCandidate,
    TermMiner,
    defined_apart,
    names_of,
    term_words,
    with_synonyms,
)
from ragcore.text.mining.synonyms import NameContexts
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job

logger = logging.getLogger(__name__)

MOST_CHARACTERS = 2_000_000  # of one document
AT_ONCE = 20  # documents that are loaded together
Versions = Sequence[tuple[int, int]]  # (id of a document version, clearance)


@job_kind
class MineTerms(JobKind):
    """One search for terms. What it has read is held in memory: it is one slice, and begins anew after a kill.

    Repeating it adds nothing that is there.
    """

    name = MINE_TERMS
    label = _("Search for terms")
    queue = "nightly"
    slice_seconds = math.inf
    hang_seconds = 6 * 3600.0  # the comparing of all candidates has no checkpoints
    retry_seconds = 600.0
    needs_author = True  # it reads what its author may read

    def run(self, job: Job) -> Iterator[Checkpoint]:
        assert job.author is not None
        lexicon = MinedLexicon(tenant_id=job.tenant_id, set_id=job.arguments["set_id"], author=job.author)
        for_everybody = Q(source_readers=None) | Q(source_readers__groups__contains=[EVERYBODY_GROUP])
        documents = _documents(lexicon, scope_for(job.author)).filter(for_everybody, readers=None)
        rows = list(documents.exclude(live_version=None).order_by("pk").values_list("live_version_id", "clearance"))
        yield Checkpoint(done=0, total=len(rows))
        miner, done = TermMiner(model_registry.tokenizer()), 0
        for texts in _texts(rows):
            for version, text, level in texts:
                miner.add(text, level=level, source=version)
            done += len(texts)
            yield Checkpoint(done=done)
        options, figures = MiningOptions.of(job.arguments), dict[str, int]()
        best = miner.candidates(
            reviewed=_reviewed(lexicon),
            compounds_only=options.compounds_only,
            learns_general=options.learns_general,
        )
        candidates = yield from _compared(lexicon, rows, best)
        if options.asks_model:
            candidates, figures = yield from model_scored(lexicon, candidates)
        yield Checkpoint(write=lambda: {"found": suggestions_store(lexicon, candidates), **figures}, is_last=True)

    def subject_words(self, job: Job) -> str:
        """The name of the set; "" for the tenant's lexicon."""
        home = KnowledgeSet.objects.filter(pk=job.arguments["set_id"]).first()
        return home.shown_name if home is not None else ""

    def panel(self, job: Job) -> list[tuple[Any, Any]]:
        labels = {
            "found": _("new suggestions"),
            "scored": _("scored by the language model"),
            "unscored": _("left without its score"),
        }
        return [(label, job.figures[name]) for name, label in labels.items() if name in job.figures]


def _documents(lexicon: MinedLexicon, scope: Scope) -> QuerySet[Document]:
    """Documents of the set, or of all sets of the tenant that are open to everyone."""
    if lexicon.set_id is not None:
        return documents_askable(scope=scope, sets=[lexicon.set_id])
    rows = sets_readable(scope=scope).filter(visibility=KnowledgeSet.Visibility.EVERYONE)
    sets = list(rows.order_by().values_list("pk", flat=True))
    return documents_askable(scope=scope, sets=sets) if sets else Document.objects.none()  # no sets would mean all


def _compared(
    lexicon: MinedLexicon, rows: Versions, candidates: list[TermCandidate]
) -> Generator[Checkpoint, None, list[TermCandidate]]:
    """The candidates, some with another name that the documents use alike; the documents are read again for it."""
    terms = LexiconTerm.objects.filter(tenant_id=lexicon.tenant_id, knowledge_set_id=lexicon.set_id)
    approved = terms.filter(status=LexiconTerm.Status.APPROVED)
    known = {
        name: clearance
        for text, long_form, synonyms, clearance in approved.values_list("text", "long_form", "synonyms", "clearance")
        for name in (text, long_form, *synonyms)
        if name
    }
    contexts = NameContexts([*names_of(candidates), *known], model_registry.tokenizer())
    for texts in _texts(rows):
        for _version, text, _level in texts:
            contexts.add(text)
        yield Checkpoint()
    try:
        embed = model_registry.embedder().embed_documents
        pairs = contexts.likely_synonyms(embed=embed, different=defined_apart(candidates))
    except RagError as error:  # the terms are worth showing without it
        logger.warning("names were not compared as synonyms: %s", error)
        return candidates
    return with_synonyms(candidates, pairs, levels_of_names={name.lower(): level for name, level in known.items()})


def _texts(rows: Versions) -> Iterator[list[tuple[int, str, int]]]:
    """Versions with their texts and clearances, some at a time."""
    for start in range(0, len(rows), AT_ONCE):
        levels = dict(rows[start : start + AT_ONCE])
        texts = dict(DocumentVersion.objects.filter(pk__in=levels).values_list("pk", "markdown"))
        yield [(pk, texts[pk][:MOST_CHARACTERS], level) for pk, level in levels.items() if pk in texts]


def _reviewed(lexicon: MinedLexicon) -> dict[str, bool]:
    """What people have decided about terms of this lexicon: each search learns from it."""
    tokenizer = model_registry.tokenizer()
    rows = LexiconTerm.objects.filter(tenant_id=lexicon.tenant_id, knowledge_set_id=lexicon.set_id)
    decided = rows.exclude(status=LexiconTerm.Status.CANDIDATE).values_list("text", "status")
    return {term_words(text, tokenizer): status == LexiconTerm.Status.APPROVED for text, status in decided}
