"""Domain vectors: fitted on a tenant's own passages, kept up with them, switched without a gap (D6, decision 025).

Index maintenance fits, fills and switches; an administrator goes back to the version before or to none, and on again.
"""

from __future__ import annotations

import logging
import re
import time

import numpy as np
from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from accounts.errors import MissingRightError, NotFoundError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge import model_registry
from knowledge.indexes.copy import latent_terms_copy
from knowledge.indexes.index_maintenance import tables_analyse
from knowledge.indexes.latent import latent_terms, questions_fold
from knowledge.indexes.latent_switch import (
    EntryCounts,
    entry_counts,
    is_filled,
    latent_drop,
    latent_fill,
    latent_register,
    passages_compared,
    same_text,
    state_lock,
    state_set,
    weights_sample,
    weights_since,
)
from knowledge.indexes.rotations import coarse_vectors
from knowledge.indexes.statements import maintenance_try_lock
from knowledge.models import LatentModel, TenantVectors
from knowledge.queue import REFRESH_INDEXES, enqueue_on_commit
from knowledge.rights import DOMAIN_VECTORS_MANAGE
from knowledge.selectors.latent_models import latent_models_managed
from knowledge.services.upkeep import FITTED_WITHIN, put_off
from knowledge.vector_errors import LatentModelError
from ragcore.embedding.latent import (
    Ints,
    LatentTerms,
    cosine_scale,
    joined,
    latent_fit,
    rarest_of,
)
from ragcore.embedding.rotation import PACKAGED, packaged_number
from ragcore.ports import FloatArray

logger = logging.getLogger(__name__)

State = LatentModel.State

LEAST_PASSAGES = 200  # entries of a tenant from which domain vectors are made (decision 025)
FIT_SAMPLE = 50_000  # entries that the analysis reads; the others are folded in
FILL_BATCH = 2_000  # entries a transaction
AGAIN = 2.0  # times as many entries as when it was fitted: it is fitted again
MOST_DRIFT = 0.15  # of new passages, beyond which it is fitted again
DRIFT_SHARE, DRIFT_LEAST = 0.1, 100  # new entries, from which drift is measured
DRIFT_SAMPLE = 1_000
COMPARED = 3_000  # passages on which cosines are compared
QUESTIONS = 150  # sentences of these passages that stand for questions
SENTENCE = (8, 90)  # characters of such a sentence
USUAL = 0.6  # of a sentence of a passage, what is known of a question that a passage answers
_ENDS = re.compile(r"[.!?。！？\n]+")


def latents_refresh() -> int:
    """Fit domain vectors where they are due, fill and switch; returns how many vectors were written.

    A new fit waits for running ingestion, for FITTED_WITHIN at most.

    Searches go on with the vectors before. An interrupted run is continued by the next one. Call outside of
    transactions. Ends at once if another process does maintenance.
    """
    written = 0
    with maintenance_try_lock() as alone:
        if not alone:
            return 0
        for row in _states_of_live_model():
            rows = LatentModel.objects.filter(tenant=row.tenant_id, model=row.model)
            building = rows.filter(state=State.BUILDING).order_by("-number").first()
            if building is None and _is_due(row) and not put_off("domain_vectors", at_most=FITTED_WITHIN):
                building = _fitted(row)
            if building is not None:
                written += _filled(building)
                tables_analyse()
                _switched(building)
    return written


def _states_of_live_model() -> QuerySet[TenantVectors]:
    """None where another model than a packaged one is in use."""
    model = model_registry.live_model()
    rows = TenantVectors.objects.filter(model=model, latent_off=False)
    return rows.order_by("pk") if model in PACKAGED else rows.none()


# ── when ──────────────────────────────────────────────────────────────────────────────────────────


def _is_due(row: TenantVectors) -> bool:
    """Whether there are enough passages and no fit, or other ones than the fit was made for."""
    newest = LatentModel.objects.filter(tenant=row.tenant_id, model=row.model).order_by("-number").first()
    after = newest.last_entry if newest is not None else 0
    counts = entry_counts(tenant_id=row.tenant_id, model=row.model, after=after)
    if counts.total < LEAST_PASSAGES:
        return False
    if newest is None or counts.total >= AGAIN * newest.passages:
        return True
    return row.latent == newest.pk and _drifted(newest, counts) > MOST_DRIFT


def _drifted(latent: LatentModel, counts: EntryCounts) -> float:
    """How much less of the passages since the fit its numbers hold, 0 to 1; 0 where there are too few new ones."""
    if counts.newer < max(DRIFT_SHARE * latent.passages, DRIFT_LEAST):
        return 0.0
    if counts.newer != latent.drift_passages:
        rows = weights_since(
            tenant_id=latent.tenant_id, model=latent.model, after=latent.last_entry, limit=DRIFT_SAMPLE
        )
        terms = latent_terms(latent.pk, ids=set(rows.terms.tolist()))
        rarest = rarest_of(latent.sampled)
        held = terms.captured(rows, rarest=rarest) / latent.captured if latent.captured else 1.0
        latent.drift, latent.drift_passages = max(0.0, 1.0 - held), counts.newer
        latent.save(update_fields=["drift", "drift_passages"])
    return latent.drift or 0.0


# ── fitting ───────────────────────────────────────────────────────────────────────────────────────


def _fitted(row: TenantVectors) -> LatentModel:
    """A new fit with its terms, registered; no entry has a vector of it yet."""
    start = time.monotonic()
    counts = entry_counts(tenant_id=row.tenant_id, model=row.model)
    sample = weights_sample(tenant_id=row.tenant_id, model=row.model, limit=FIT_SAMPLE)
    terms = latent_fit(sample)
    captured = terms.captured(sample, rarest=rarest_of(len(sample)))
    terms = _in_all_languages(terms, row.tenant_id)
    last = LatentModel.objects.filter(tenant=row.tenant_id, model=row.model).aggregate(last=Max("number"))["last"]
    with transaction.atomic():
        latent = LatentModel.objects.create(
            tenant_id=row.tenant_id,
            model=row.model,
            number=(last or 0) + 1,
            passages=counts.total,
            sampled=len(sample),
            terms=len(terms.ids),
            captured=captured,
            rotation=packaged_number(row.model),
            last_entry=counts.last,
        )
        latent_terms_copy(latent.pk, terms)
        _calibrate(latent, terms)
        latent.seconds = time.monotonic() - start
        latent.save()
        latent_register(tenant_id=row.tenant_id, model=row.model, latent=latent.pk)
    logger.info("domain vectors %d of tenant %d were fitted in %.1f s", latent.number, row.tenant_id, latent.seconds)
    return latent


def _in_all_languages(terms: LatentTerms, tenant_id: int) -> LatentTerms:
    """The same numbers for each id of a text."""
    first = {int(term): place for place, term in enumerate(terms.ids)}
    more = {term: first[same] for term, same in same_text(tenant_id).items() if same in first and term not in first}
    every = np.concatenate([terms.ids, np.fromiter(more, np.int64, len(more))])
    places = np.concatenate([np.arange(len(terms.ids)), np.fromiter(more.values(), np.int64, len(more))])
    order = np.argsort(every)
    return LatentTerms(every[order], terms.rows[places[order]], terms.rarity[places[order]])


def _calibrate(latent: LatentModel, terms: LatentTerms) -> None:
    """On which scale joined cosines say what those of the embedder say, and how much of a question is usually known.

    Sentences of passages are the questions. Not saved.
    """
    tokenizer, embedder = model_registry.tokenizer(), model_registry.embedder()
    compared = passages_compared(tenant_id=latent.tenant_id, model=latent.model, limit=COMPARED)
    asked = [(place, text) for place, text in enumerate(map(sentence_of, compared.texts)) if text][:QUESTIONS]
    if not asked or embedder.model != latent.model:
        return
    plain = np.vstack([embedder.embed_queries([text]) for _, text in asked])
    words = [tokenizer.terms(text) for _, text in asked]
    rarest = rarest_of(latent.sampled)
    folded = questions_fold(words, tenant_id=latent.tenant_id, latent=latent.pk, rarest=rarest)
    questions = joined(
        coarse_vectors(plain, rotation=latent.rotation, model=latent.model), np.stack([one.numbers for one in folded])
    )
    prefixes = coarse_vectors(compared.vectors, rotation=latent.rotation, model=latent.model)
    passages = joined(prefixes, terms.fold(compared.weights))
    places = np.array([place for place, _ in asked])
    scale = cosine_scale(near_and_far(plain @ compared.vectors.T, places), near_and_far(questions @ passages.T, places))
    latent.cosine_offset, latent.cosine_slope = scale.offset, scale.slope
    latent.usual = USUAL * float(np.median([one.known for one in folded]))


def near_and_far(cosines: FloatArray, own: Ints) -> FloatArray:
    """float[q, 2]: the cosine of each question's own passage, and the best one of all others."""
    rows = np.arange(len(own))
    near = cosines[rows, own]
    others = cosines.copy()
    others[rows, own] = -1.0
    return np.column_stack([near, others.max(axis=1)])


def sentence_of(text: str) -> str:
    """The sentence in the middle of a passage, cut to the length of a question; "" where there is none."""
    sentences = [part.strip() for part in _ENDS.split(text) if len(part.strip()) >= SENTENCE[0]]
    return sentences[len(sentences) // 2][: SENTENCE[1]] if sentences else ""


# ── filling and switching ─────────────────────────────────────────────────────────────────────────


def _filled(latent: LatentModel) -> int:
    """Give every entry a vector of this fit; returns how many were missing."""
    latent_register(tenant_id=latent.tenant_id, model=latent.model, latent=latent.pk)
    terms = latent_terms(latent.pk)
    written = after = 0
    while True:
        with transaction.atomic():
            done = latent_fill(
                tenant_id=latent.tenant_id,
                model=latent.model,
                latent=latent.pk,
                terms=terms,
                after=after,
                limit=FILL_BATCH,
            )
        written, after = written + done.count, done.last
        if done.count < FILL_BATCH:
            return written


@transaction.atomic
def _switched(latent: LatentModel, *, author: User | None = None) -> bool:
    """Bring a filled fit into use; the one before it is kept, older ones are dropped. False: it is not complete."""
    tenant_id, model = latent.tenant_id, latent.model
    current, latents = state_lock(tenant_id=tenant_id, model=model)
    if latent.pk not in latents or not is_filled(tenant_id=tenant_id, model=model, latent=latent.pk):
        return False
    former = current if current not in (0, latent.pk) else next((one for one in latents if one != latent.pk), 0)
    kept = [latent.pk, former] if former else [latent.pk]
    state_set(tenant_id=tenant_id, model=model, latent=latent.pk, latents=kept, off=False)
    rows = LatentModel.objects.filter(tenant=tenant_id, model=model)
    rows.filter(pk=latent.pk).update(state=State.LIVE, switched=timezone.now(), author=author)
    rows.filter(state=State.LIVE).exclude(pk=latent.pk).update(state=State.RETIRED)
    for old in rows.exclude(pk__in=kept).exclude(state=State.DROPPED):
        latent_drop(old.pk)
        rows.filter(pk=old.pk).update(state=State.DROPPED)
    return True


# ── what an administrator does ────────────────────────────────────────────────────────────────────


@transaction.atomic
def latent_use(*, scope: Scope, actor: User, latent_id: int) -> LatentModel:
    """Bring a version into use that is kept filled. Raises NotFoundError, MissingRightError, LatentModelError."""
    latent = _managed(scope, latent_id)
    if latent.state != State.RETIRED:
        raise LatentModelError(latent.state)
    if not _switched(latent, author=actor):
        raise LatentModelError("dropped")
    audit_record(actor=actor, action="domain_vectors.switch", target=str(latent))
    latent.refresh_from_db()
    return latent


@transaction.atomic
def latent_switch_off(*, scope: Scope, actor: User, latent_id: int) -> LatentModel:
    """Search by the embedder's own vectors again, until somebody switches on; the version is kept filled.

    Raises NotFoundError, MissingRightError, LatentModelError.
    """
    latent = _managed(scope, latent_id)
    if latent.state not in (State.LIVE, State.BUILDING):
        raise LatentModelError(latent.state)
    current, latents = state_lock(tenant_id=latent.tenant_id, model=latent.model)
    if latent.state == State.BUILDING:
        latents = [one for one in latents if one != latent.pk]
        latent_drop(latent.pk)
    state_set(
        tenant_id=latent.tenant_id,
        model=latent.model,
        latent=0 if current == latent.pk else current,
        latents=latents,
        off=True,
    )
    latent.state = State.RETIRED if latent.state == State.LIVE else State.DROPPED
    latent.save(update_fields=["state"])
    audit_record(actor=actor, action="domain_vectors.off", target=str(latent))
    return latent


@transaction.atomic
def latent_fit_request(*, scope: Scope, actor: User) -> None:
    """Let index maintenance make domain vectors again where an administrator has switched them off.

    Raises MissingRightError.
    """
    if not administers(scope=scope, doing=DOMAIN_VECTORS_MANAGE):
        raise MissingRightError
    TenantVectors.objects.filter(tenant=scope.tenant_id, latent_off=True).update(latent_off=False)
    audit_record(actor=actor, action="domain_vectors.on", target=actor.tenant.name)
    enqueue_on_commit(REFRESH_INDEXES)


def _managed(scope: Scope, latent_id: int) -> LatentModel:
    if not administers(scope=scope, doing=DOMAIN_VECTORS_MANAGE):
        raise MissingRightError
    found = latent_models_managed(scope=scope).select_for_update().filter(pk=latent_id).first()
    if found is None:
        raise NotFoundError("domain_vectors", version=latent_id)
    return found
