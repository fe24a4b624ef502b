"""Domain vectors: fitted on a tenant's own passages, kept up with them, switched without a gap (decision 025).

Index maintenance fits, fills, measures and switches, but not to a version that finds less than the embedder alone. An
administrator goes back to the version before or to none, and on again.
"""

from __future__ import annotations

import logging
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
from knowledge.indexes.latent import LatentEmbedder, latent_side, latent_terms, questions_fold, vectors_join
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
from knowledge.services.own_questions import COMPARED, found_share, near_and_far, questions_of
from knowledge.services.upkeep import FITTED_WITHIN, put_off
from knowledge.vector_errors import LatentModelError
from ragcore.embedding.latent import (
    LatentTerms,
    cosine_scale,
    joined,
    latent_fit,
    rarest_of,
)
from ragcore.embedding.rotation import PACKAGED, packaged_number
from ragcore.embedding.vectors import DIMENSIONS

logger = logging.getLogger(__name__)

State = LatentModel.State

LEAST_PASSAGES = 200  # entries of a tenant from which domain vectors are made (decision 025)
FIT_SAMPLE = 50_000  # entries that the analysis reads; the others are folded in
FILL_BATCH = 2_000  # entries a transaction
AGAIN = 2.0  # times as many entries as when it was fitted: it is fitted again
MOST_DRIFT = 0.15  # of new passages, beyond which it is fitted again
DRIFT_SHARE, DRIFT_LEAST = 0.1, 100  # new entries, from which drift is measured
DRIFT_SAMPLE = 1_000
LEAST_QUESTIONS = 8  # fewer say nothing of what is found
MOST_LOST = 0.02  # of the share that finds it: a version that loses more does not come into use by itself
USUAL = 0.6  # of a sentence of a passage, what is known of a question that a passage answers


def latents_refresh() -> int:
    """Fit domain vectors where they are due, fill, measure and switch; returns how many vectors were written.

    A version that is kept from before domain vectors were switched off comes into use again. A new fit waits for
    running ingestion, for FITTED_WITHIN at most.

    Searches go on with the vectors before. An interrupted run is continued by the next one. Call outside of
    transactions. Ends at once if another process does maintenance.
    """
    written = 0
    with maintenance_try_lock() as alone:
        if not alone:
            return 0
        for row in _states_of_live_model():
            if row.latent == 0 and (kept := _kept(row)) is not None:
                _completed(kept)
                row.refresh_from_db()
            rows = LatentModel.objects.filter(tenant=row.tenant_id, model=row.model)
            building = rows.filter(state=State.BUILDING).order_by("-number").first()
            if building is None and _is_due(row) and not put_off("domain_vectors", at_most=FITTED_WITHIN):
                building = _fitted(row)
            if building is not None:
                written += _filled(building)
                tables_analyse()
                _measure(building)
                _completed(building)
            for live in rows.filter(state=State.LIVE, figures={}):  # of an earlier release
                _measure(live)
    return written


def _states_of_live_model() -> QuerySet[TenantVectors]:
    """None where another model than a packaged one is in use."""
    model = model_registry.live_model()
    rows = TenantVectors.objects.filter(model=model, latent_off=False)
    return rows.order_by("pk") if model in PACKAGED else rows.none()


def _kept(row: TenantVectors) -> LatentModel | None:
    """The newest complete version that is kept and may come into use by itself."""
    for latent in LatentModel.objects.filter(pk__in=row.latents, state=State.RETIRED).order_by("-number"):
        _measure(latent)
        if not finds_less(latent) and is_filled(tenant_id=row.tenant_id, model=row.model, latent=latent.pk):
            return latent
    return None


# ── when ──────────────────────────────────────────────────────────────────────────────────────────


def _is_due(row: TenantVectors) -> bool:
    """Whether there are enough passages and no fit, or other ones than the fit was made for.

    Where none is in use, a fit counts only if it is kept and finds less than the embedder alone: another one of the
    same passages would, too.
    """
    newest = LatentModel.objects.filter(tenant=row.tenant_id, model=row.model).order_by("-number").first()
    after = newest.last_entry if newest is not None else 0
    counts = entry_counts(tenant_id=row.tenant_id, model=row.model, after=after)
    if counts.total < LEAST_PASSAGES:
        return False
    if newest is None or counts.total >= AGAIN * newest.passages:
        return True
    is_held_back = newest.pk in row.latents and finds_less(newest)
    if row.latent == 0 and not is_held_back:
        return True
    return (row.latent == newest.pk or is_held_back) and _drifted(newest, counts) > MOST_DRIFT


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
    asked = questions_of(compared.texts)
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


# ── what it is worth ──────────────────────────────────────────────────────────────────────────────


def _measure(latent: LatentModel) -> None:
    """Store how often sentences find their own passage, by the embedder alone and by domain vectors.

    `figures`: {"questions", "passages", "embedder", "domain"}; without the shares where there are too few sentences.
    The same sentences and passages as those that cosines are compared on. Once for each version.
    """
    embedder = model_registry.embedder()
    if latent.figures or embedder.model != latent.model:
        return
    compared = passages_compared(tenant_id=latent.tenant_id, model=latent.model, limit=COMPARED)
    asked = questions_of(compared.texts)
    latent.figures = {"questions": len(asked), "passages": len(compared.texts)}
    if len(asked) >= LEAST_QUESTIONS:
        joint = LatentEmbedder(
            embedder, model_registry.tokenizer(), tenant_id=latent.tenant_id, latent=latent.pk
        ).embed_queries([text for _, text in asked])
        terms = latent_terms(latent.pk, ids=set(compared.weights.terms.tolist()))
        passages = vectors_join(compared.vectors, terms.fold(compared.weights), side=latent_side(latent.pk))
        places = np.array([place for place, _ in asked])
        latent.figures |= {
            "embedder": found_share(joint[:, :DIMENSIONS] @ compared.vectors.T, places),
            "domain": found_share(joint[:, DIMENSIONS:] @ passages.T, places),
        }
    latent.save(update_fields=["figures"])


def finds_less(latent: LatentModel) -> bool:
    """Whether more than MOST_LOST of the questions was lost to the embedder alone; False where that is not known."""
    figures = latent.figures
    return "domain" in figures and round(figures["embedder"] - figures["domain"], 6) > MOST_LOST


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
def _completed(latent: LatentModel, *, author: User | None = None) -> bool:
    """Bring a filled fit into use; the one before it is kept, older ones are dropped. False: it is not complete.

    Where nobody asks for it by hand (`author`), it is only kept, beside the one in use, while domain vectors are
    switched off or where it finds less than the embedder alone.
    """
    tenant_id, model = latent.tenant_id, latent.model
    now = state_lock(tenant_id=tenant_id, model=model)
    if latent.pk not in now.latents or not is_filled(tenant_id=tenant_id, model=model, latent=latent.pk):
        return False
    comes = author is not None or not (now.off or finds_less(latent))
    other = next((one for one in (now.latent, *now.latents) if one not in (0, latent.pk)), None)
    kept = [one for one in ((latent.pk, other) if comes else (other, latent.pk)) if one is not None]
    in_use, off = (latent.pk, False) if comes else (now.latent, now.off)
    state_set(tenant_id=tenant_id, model=model, latent=in_use, latents=kept, off=off)
    rows = LatentModel.objects.filter(tenant=tenant_id, model=model)
    if comes:
        rows.filter(pk=latent.pk).update(state=State.LIVE, switched=timezone.now(), author=author)
    rows.filter(state__in=(State.LIVE, State.BUILDING), pk__in=kept).exclude(pk=in_use).update(state=State.RETIRED)
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
    if not _completed(latent, author=actor):
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
    now = state_lock(tenant_id=latent.tenant_id, model=latent.model)
    latents = now.latents
    if latent.state == State.BUILDING:
        latents = [one for one in latents if one != latent.pk]
        latent_drop(latent.pk)
    state_set(
        tenant_id=latent.tenant_id,
        model=latent.model,
        latent=0 if now.latent == latent.pk else now.latent,
        latents=latents,
        off=True,
    )
    latent.state = State.RETIRED if latent.state == State.LIVE else State.DROPPED
    latent.save(update_fields=["state"])
    audit_record(actor=actor, action="domain_vectors.off", target=str(latent))
    return latent


@transaction.atomic
def latent_fit_request(*, scope: Scope, actor: User) -> None:
    """Let index maintenance use a kept version again where an administrator has switched off, or make a new one.

    Raises MissingRightError.
    """
    if not administers(scope=scope, doing=DOMAIN_VECTORS_MANAGE):
        raise MissingRightError
    TenantVectors.objects.filter(tenant=scope.tenant_id, latent_off=True).update(latent_off=False)
    audit_record(actor=actor, action="domain_vectors.on", target=actor.tenant.name)
    enqueue_on_commit(REFRESH_INDEXES)


def _managed(scope: Scope, latent_id: int) -> LatentModel:
    """The version as it is now, with nobody else switching those of its model."""
    if not administers(scope=scope, doing=DOMAIN_VECTORS_MANAGE):
        raise MissingRightError
    found = latent_models_managed(scope=scope).filter(pk=latent_id).first()
    if found is None:
        raise NotFoundError("domain_vectors", version=latent_id)
    state_lock(tenant_id=found.tenant_id, model=found.model)  # first, as index maintenance locks it
    found.refresh_from_db()
    return found
