"""The registry of embedding models and rerankers: a platform administrator changes it.

A row says how a model is reached and asked. Which embedding model the site uses is changed by `embedder_switch`:
passages need its vectors first. Another reranker is in use at once, where no golden set guards a knowledge set.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.error_messages import stored_message
from accounts.errors import MissingRightError, NotFoundError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.embedder_fit import (
    Loadable,
    StoredShortening,
    WholeVectors,
    fit_forget,
    measured_of,
    trust_refresh,
    weights_verify,
)
from knowledge.errors import MeasuredFirstError
from knowledge.faults import failure_columns
from knowledge.model_errors import SearchModelInvalidError
from knowledge.model_registry import embedder_of, reranker_of
from knowledge.model_servers import Endpoint, client_settings, without_key
from knowledge.model_setup import hosts_allowed, registry_changed, setup_now
from knowledge.model_test_words import KEY_UNREADABLE, SAYS, SENTENCES
from knowledge.models import EmbedderSwitch, SearchModel, SetEmbedder
from knowledge.packaged_models import PACKAGED
from knowledge.rights import MODELS_MANAGE
from knowledge.sealed_text import text_seal
from knowledge.search_model_setup import (
    KEY_PURPOSE,
    SearchModelSpec,
    environment_reranker,
    first_packaged,
    may_run_code,
    spec_of,
)
from knowledge.services.language_models import server_check
from knowledge.services.publish_gate import publish_gate
from ragcore.client_registry import ClientSettings
from ragcore.embedding.openai_api import TIMEOUT_SECONDS, OpenAIEmbedder
from ragcore.errors import EmbedderRefusedError, RagError
from ragcore.fetching.addresses import check_url
from ragcore.ports import Embedder, FloatArray, RerankInput
from ragcore.reranking.http_api import HttpPairScorer
from ragcore.types import Passage, Query

logger = logging.getLogger(__name__)

Task, Provider = SearchModel.Task, SearchModel.Provider
FIELDS = (
    *("task", "provider", "name", "url", "query_prefix", "document_prefix", "pooling", "max_tokens"),
    "trust_remote_code",
)
OF_VECTORS = ("task", "provider", "name", "query_prefix", "document_prefix", "pooling", "max_tokens")
TEST_TEXTS = (
    "How is the antenna tilt adjusted?",
    "The tilt of an antenna is adjusted by its remote unit.",
    "天线下倾角",
)
CHANGED = "changed"  # of a test: the model is another one by now
SAID_CHARACTERS = 200
MAX_VECTORS = 128  # characters of the name of vectors


def search_model_save(
    *, scope: Scope, actor: User, model: SearchModel, values: Mapping[str, Any], key: str | None = None
) -> SearchModel:
    """Store a new or changed model. `key`: a new one, "" removes it, None leaves it as it is.

    Raises MissingRightError, SearchModelInvalidError, ModelInvalidError for a key that cannot be used, and
    UrlNotAllowedError.
    """
    _check_right(scope)
    stored = SearchModel.objects.filter(pk=model.pk).first() if model.pk else None
    for name in FIELDS:
        if name in values:
            setattr(model, name, values[name])
    _tidy(model)
    search_model_check(model=model, stored=stored, key=key)
    if key is not None:
        model.key = text_seal(key, purpose=KEY_PURPOSE) if key else ""
    before = _told(stored) if stored is not None else {}
    after = _told(model)
    changed = {name: after[name] for name in after if before.get(name) != after[name]}
    if changed or key is not None:
        model.tested, model.test_code, model.test_data = None, "", {}
    if model.task == Task.EMBED:
        model.vectors = embedder_of(spec_of(model, ())).model
    try:
        with transaction.atomic():
            model.save()
            registry_changed()
    except IntegrityError:
        raise SearchModelInvalidError("twice") from None
    if changed or key is not None:
        audit_record(
            actor=actor,
            action="search_model.change" if stored is not None else "search_model.create",
            target=str(model),
            before={name: before.get(name) for name in changed} if before else {},
            after=changed,
            key="kept" if key is None else "set" if key else "removed",
        )
    return model


def search_model_check(*, model: SearchModel, stored: SearchModel | None, key: str | None) -> None:
    """Raises what `search_model_save` raises for values that cannot be stored."""
    if model.provider == Provider.SERVER:
        if not model.url:
            raise SearchModelInvalidError("url")
        of_key = stored if stored is not None and stored.url else None
        server_check(stored=of_key, url=model.url, key=key)
    elif model.provider == Provider.FOLDER:
        _check_folder(model)
    elif model.task == Task.EMBED and model.name and model.name not in PACKAGED:
        raise SearchModelInvalidError("packaged", names=", ".join(PACKAGED))
    if any(character.isspace() for character in model.name) or (
        not model.name and model.task == Task.EMBED and model.provider != Provider.PACKAGED
    ):
        raise SearchModelInvalidError("name")
    if model.trust_remote_code and not may_run_code(model.task):
        raise SearchModelInvalidError("code")
    if model.task == Task.EMBED:
        vectors = embedder_of(spec_of(model, ())).model
        if len(vectors) > MAX_VECTORS:
            raise SearchModelInvalidError("name_long")
        if SearchModel.objects.filter(task=Task.EMBED, vectors=vectors).exclude(pk=model.pk).exists():
            raise SearchModelInvalidError("twice")
    is_changed = stored is not None and any(getattr(stored, name) != getattr(model, name) for name in OF_VECTORS)
    if is_changed and stored is not None and is_held(stored):
        raise SearchModelInvalidError("held")


def is_held(model: SearchModel) -> bool:
    """Whether it is in use, on its way or kept for going back, by the site or by a set, or its vectors still go."""
    states = (*EmbedderSwitch.OPEN, EmbedderSwitch.State.LIVE, EmbedderSwitch.State.KEPT)
    leaves_vectors = Q(state__in=EmbedderSwitch.ENDED, vectors_deleted=None)
    by_site = EmbedderSwitch.objects.filter(Q(state__in=states) | leaves_vectors, target=model)
    by_sets = SetEmbedder.objects.filter(target=model, state__in=SetEmbedder.HELD)
    return model.is_used or by_site.exists() or by_sets.exists()


@transaction.atomic
def search_model_delete(*, scope: Scope, actor: User, model: SearchModel) -> None:
    """Remove a model with its key. Raises MissingRightError, SearchModelInvalidError while it is in use or kept."""
    _check_right(scope)
    if is_held(model):
        raise SearchModelInvalidError("in_use")
    details = _told(model)
    EmbedderSwitch.objects.filter(target=model).delete()
    SetEmbedder.objects.filter(target=model).delete()
    if model.vectors:
        fit_forget(model.vectors)
    model.delete()
    registry_changed()
    audit_record(
        actor=actor, action="search_model.delete", target=details["name"] or details["provider"], before=details
    )


def reranker_publish(*, scope: Scope, actor: User, model_id: int | None) -> None:
    """Use another reranker. Where golden sets guard knowledge sets, these are asked with both rerankers first.

    Raises what `reranker_use` raises, and MeasuredFirstError with a change that is being measured or not decided yet.
    """
    model, gate = _reranker_get(scope, model_id), publish_gate()
    used = SearchModel.objects.filter(is_used=True).first()
    if gate is not None and used != model:
        change = gate.hold_reranker(actor=actor, model_id=model_id)
        if change is not None:
            raise MeasuredFirstError(change=change)
    reranker_use(scope=scope, actor=actor, model_id=model_id)


def _reranker_get(scope: Scope, model_id: int | None) -> SearchModel | None:
    _check_right(scope)
    if environment_reranker().is_locked:
        raise SearchModelInvalidError("reranker_locked")
    model = SearchModel.objects.filter(pk=model_id).first() if model_id is not None else None
    if model_id is not None and model is None:
        raise NotFoundError("search_model", model=model_id)
    if model is not None and model.task != Task.RERANK:
        raise SearchModelInvalidError("not_reranker")
    return model


@transaction.atomic
def reranker_use(*, scope: Scope, actor: User, model_id: int | None, reason: str = "") -> None:
    """Order passages by this reranker from now on; None: by that of the environment.

    `reason`: why, against what was measured. Raises MissingRightError, NotFoundError, SearchModelInvalidError.
    """
    model = _reranker_get(scope, model_id)
    SearchModel.objects.filter(is_used=True).update(is_used=False)
    if model is not None:
        SearchModel.objects.filter(pk=model.pk).update(is_used=True)
    registry_changed()
    note = {"reason": reason} if reason else {}
    audit_record(actor=actor, action="search_model.use", target=str(model) if model is not None else "–", **note)


# ── testing ─────────────────────────────────────────────────────────────────────────────────────


def search_model_test(*, scope: Scope, actor: User, model: SearchModel) -> str:
    """Ask a model for three vectors, or to order a passage; keeps what came of it and returns it as a sentence.

    What was asked is kept only where nobody has changed the model meanwhile. A server is asked once, without a second
    try; a model of a folder is loaded into this process. Call outside of transactions. Raises MissingRightError.
    """
    _check_right(scope)
    values_tested = {name: getattr(model, name) for name in (*FIELDS, "key")}
    code, data = _tried(model, spec_of(model, hosts_allowed()))
    values = {"tested": timezone.now(), "test_code": code, "test_data": data}
    if not SearchModel.objects.filter(pk=model.pk, **values_tested).update(**values):
        code, data = CHANGED, {}
    model.test_code, model.test_data = code, data
    audit_record(actor=actor, action="search_model.test", target=str(model), code=code)
    return tested_sentence(code, data)


def environment_search_test(*, scope: Scope, actor: User, task: str) -> tuple[bool, str]:
    """The same for the model in use, whoever set it; nothing is kept. Raises MissingRightError."""
    _check_right(scope)
    setup = setup_now()
    spec = setup.embedder if task == Task.EMBED else setup.reranker
    code, data = ("none", {}) if spec.client == "none" else _tried(SearchModel(task=task), spec)
    audit_record(actor=actor, action="search_model.test", target=spec.client, code=code)
    return code == "ok", tested_sentence(code, data)


def tested_sentence(code: str, data: Mapping[str, Any]) -> str:
    """What a test found, in the language of the reader."""
    if code == "ok":
        sentence = (
            _("It answers (%(seconds)s s).")
            if "dimensions" not in data
            else _("%(dimensions)s dimensions (%(seconds)s s).")
            if "latin" not in data
            else _(
                "It gives %(dimensions)s numbers (%(seconds)s s). Its part in the ranking is at most %(latin)s %% for "
                "texts in Latin letters and %(cjk)s %% for Chinese ones, by what it found among general texts."
            )
        )
        return str(sentence) % data
    if code == "none":
        return str(_("Reranking is off."))
    if code == CHANGED:
        return str(_("The model was changed while it was tested. Test it again."))
    if code == KEY_UNREADABLE:
        return str(SENTENCES[KEY_UNREADABLE])
    words = stored_message(code, str(data.get("message", code)), data)
    return str(SAYS) % {"sentence": words, **data} if data.get("said") else words


def _tried(model: SearchModel, spec: SearchModelSpec) -> tuple[str, dict[str, Any]]:
    """Code and data of a test. Nothing is sent without a key that cannot be read."""
    if spec.is_key_lost:
        return KEY_UNREADABLE, {}
    start = time.monotonic()
    try:
        data = _vectors_tried(spec) if model.task == Task.EMBED else _order_tried(spec)
    except Exception as error:  # whatever a model's files, its code or its server may cause
        is_known = isinstance(error, RagError)
        logger.warning("the test of the search model %s failed: %s", spec.client, error, exc_info=not is_known)
        columns = failure_columns(error)
        server_text = str(error.data.get("detail", ""))[:SAID_CHARACTERS] if isinstance(error, RagError) else ""
        data = {"message": columns["error_message"], "said": server_text, **columns["error_data"]}
        return columns["error_code"][:32], without_key(data, spec.key)
    return "ok", {**data, "seconds": f"{time.monotonic() - start:.1f}"}


def _vectors_tried(spec: SearchModelSpec) -> dict[str, Any]:
    if not spec.is_remote:
        return _measured(embedder_of(spec))
    shorten = StoredShortening()
    asked_once = replace(
        _asked_once(spec),
        budget_seconds=TIMEOUT_SECONDS,
        query_prefix=spec.query_prefix,
        document_prefix=spec.document_prefix,
        shorten=shorten,
    )
    with closing(OpenAIEmbedder.from_settings(_name(spec), asked_once)) as embedder:
        shorten.embedder = embedder
        return _measured(embedder)


def _measured(embedder: Embedder) -> dict[str, Any]:
    """How many numbers a model gives and how far it is trusted; measured anew for another one behind its name."""
    try:
        vectors = _test_vectors(embedder)
    except EmbedderRefusedError as error:
        if error.reason not in ("other_dimensions", "other_weights") or not fit_forget(embedder.model):
            raise
        vectors = _test_vectors(embedder)
    if isinstance(embedder, WholeVectors):
        trust_refresh(embedder)
    measured = measured_of(embedder.model)
    if measured is None or measured.trust is None:
        return {"dimensions": int(vectors.shape[1])}
    return {
        "dimensions": measured.dimensions,
        "latin": round(100 * measured.trust.latin),
        "cjk": round(100 * measured.trust.cjk),
    }


def _test_vectors(embedder: Embedder) -> FloatArray:
    """float32[3, 768]: the model's vectors as they are stored. A model is loaded first, however long that takes."""
    if isinstance(embedder, Loadable):
        embedder.warm()
    vectors = np.vstack([embedder.embed_queries(TEST_TEXTS[:1]), embedder.embed_documents(TEST_TEXTS[1:])])
    if isinstance(embedder, WholeVectors):
        weights_verify(embedder)
    return vectors


def _order_tried(spec: SearchModelSpec) -> dict[str, Any]:
    question = f"{TEST_TEXTS[0]} {time.time_ns()}"  # no model is asked for a score that is known
    if spec.is_remote:
        asked_once = replace(_asked_once(spec), budget_seconds=settings.RERANKER_SECONDS)
        with closing(HttpPairScorer.from_settings(_name(spec), asked_once)) as scorer:
            scorer.scores(question, TEST_TEXTS[1:2])
    else:
        passage = Passage(chunk=0, document=0, version=0, text=TEST_TEXTS[1], title="")
        reranker_of(spec).score(Query(text=question, terms=()), [RerankInput(passage=passage, arms={})])
    return {}


def _asked_once(spec: SearchModelSpec) -> ClientSettings:
    """A client of its own: where the server is silent, somebody waits half a minute for the page, not two."""
    return replace(client_settings(Endpoint(url=spec.url, key=spec.key, hosts=spec.hosts)), is_patient=False)


def _name(spec: SearchModelSpec) -> str:
    """Of a model, as its server calls it."""
    return spec.client.partition(":")[2]


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _tidy(model: SearchModel) -> None:
    """Nothing is kept that the provider does not read."""
    if model.provider == Provider.PACKAGED:
        model.name = (model.name or first_packaged()) if model.task == Task.EMBED else ""
        model.query_prefix = model.document_prefix = ""
    if model.provider != Provider.SERVER:
        model.url, model.key = "", ""
    else:
        model.url = str(check_url(model.url)).rstrip("/") if model.url else ""
    if model.provider != Provider.FOLDER:
        model.pooling, model.max_tokens, model.trust_remote_code = "", None, False
    if model.task == Task.RERANK:
        model.query_prefix = model.document_prefix = model.pooling = ""
        model.max_tokens, model.vectors = None, ""


def _check_folder(model: SearchModel) -> None:
    """A folder in DATA_DIR/models, or in one that the operator allows for sources of the default tenant."""
    folder = Path(model.name)
    if not folder.is_absolute() or not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise SearchModelInvalidError("folder")
    allowed = map(Path, (*settings.SOURCE_FOLDERS, *settings.GRANTABLE_FOLDERS))
    roots = (Path(settings.DATA_DIR) / "models", *allowed)
    if not any(folder.resolve().is_relative_to(root.resolve()) for root in roots):
        raise SearchModelInvalidError("folder")


def _told(model: SearchModel) -> dict[str, Any]:
    """What the audit log says of a model."""
    return {name: getattr(model, name) for name in FIELDS}


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
