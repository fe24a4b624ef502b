"""The registry of embedding models and rerankers: a platform administrator changes it (D6, D14).

A row says how a model is reached and asked. Which embedding model the site uses is changed by `embedder_switch`:
passages need its vectors first. Another reranker is in use at once, where no golden set guards a knowledge set.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.error_messages import stored_message
from accounts.errors import MissingRightError, NotFoundError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import MeasuredFirstError, error_columns
from knowledge.model_errors import SearchModelInvalidError
from knowledge.model_registry import embedder_of, reranker_of
from knowledge.model_setup import hosts_allowed, registry_changed, setup_now
from knowledge.models import EmbedderSwitch, SearchModel, SetEmbedder
from knowledge.rights import MODELS_MANAGE
from knowledge.sealed_text import text_seal
from knowledge.search_model_setup import KEY_PURPOSE, SearchModelSpec, environment_reranker, may_run_code, spec_of
from knowledge.services.language_models import server_check
from knowledge.services.model_tests import without_key
from knowledge.services.publish_gate import publish_gate
from ragcore.errors import RagError
from ragcore.fetching.addresses import check_url
from ragcore.ports import RerankInput
from ragcore.types import Passage, Query

Task, Provider = SearchModel.Task, SearchModel.Provider
FIELDS = (
    *("task", "provider", "name", "url", "query_prefix", "document_prefix", "pooling", "max_tokens"),
    *("trust_remote_code", "price"),
)
OF_VECTORS = ("task", "provider", "name", "query_prefix", "document_prefix", "pooling", "max_tokens")
TEST_TEXTS = (
    "How is the antenna tilt adjusted?",
    "The tilt of an antenna is adjusted by its remote unit.",
    "天线下倾角",
)
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
    if any(character.isspace() for character in model.name) or (
        not model.name and model.task == Task.EMBED and model.provider != Provider.PACKAGED
    ):
        raise SearchModelInvalidError("name")
    if model.trust_remote_code and not may_run_code(model.task):
        raise SearchModelInvalidError("code")
    if model.task == Task.EMBED and len(embedder_of(spec_of(model, ())).model) > MAX_VECTORS:
        raise SearchModelInvalidError("name_long")
    is_changed = stored is not None and any(getattr(stored, name) != getattr(model, name) for name in OF_VECTORS)
    if is_changed and stored is not None and is_held(stored):
        raise SearchModelInvalidError("held")


def is_held(model: SearchModel) -> bool:
    """Whether it is in use, on its way, or kept for going back, by the site or by a set."""
    states = (*EmbedderSwitch.OPEN, EmbedderSwitch.State.LIVE, EmbedderSwitch.State.KEPT)
    by_site = EmbedderSwitch.objects.filter(target=model, state__in=states)
    by_sets = SetEmbedder.objects.filter(target=model, state__in=SetEmbedder.HELD)
    return model.is_used or by_site.exists() or by_sets.exists()


@transaction.atomic
def search_model_delete(*, scope: Scope, actor: User, model: SearchModel) -> None:
    """Remove a model with its key. Raises MissingRightError, SearchModelInvalidError while it is in use or kept."""
    _check_right(scope)
    if is_held(model):
        raise SearchModelInvalidError("in_use")
    told = _told(model)
    EmbedderSwitch.objects.filter(target=model).delete()
    SetEmbedder.objects.filter(target=model).delete()
    model.delete()
    registry_changed()
    audit_record(actor=actor, action="search_model.delete", target=told["name"] or told["provider"], before=told)


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
    """Ask a model for three vectors, or to order two passages; keeps what came of it and returns it as a sentence.

    Loads a model of a folder into this process. Call outside of transactions. Raises MissingRightError.
    """
    _check_right(scope)
    code, data = _tried(model, spec_of(model, hosts_allowed()))
    values = {"tested": timezone.now(), "test_code": code, "test_data": data}
    for name, value in values.items():
        setattr(model, name, value)
    SearchModel.objects.filter(pk=model.pk).update(**values)
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
            else _("It gives %(dimensions)s numbers (%(seconds)s s).")
        )
        return str(sentence) % data
    if code == "none":
        return str(_("Reranking is off."))
    return stored_message(code, str(data.get("message", code)), data)


def _tried(model: SearchModel, spec: SearchModelSpec) -> tuple[str, dict[str, Any]]:
    start = time.monotonic()
    try:
        if model.task == Task.EMBED:
            embedder = embedder_of(spec)
            vectors = np.vstack([embedder.embed_queries(TEST_TEXTS[:1]), embedder.embed_documents(TEST_TEXTS[1:])])
            data: dict[str, Any] = {"dimensions": int(vectors.shape[1])}
        else:
            passage = Passage(chunk=0, document=0, version=0, text=TEST_TEXTS[1], title="")
            reranker_of(spec).score(Query(text=TEST_TEXTS[0], terms=()), [RerankInput(passage=passage, arms={})])
            data = {}
    except RagError as error:
        columns = error_columns(error)
        data = {"message": columns["error_message"], **columns["error_data"]}
        return columns["error_code"][:32], without_key(data, spec.key)
    return "ok", {**data, "seconds": f"{time.monotonic() - start:.1f}"}


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _tidy(model: SearchModel) -> None:
    """Nothing is kept that the provider does not read."""
    if model.provider == Provider.PACKAGED:
        model.name = model.query_prefix = model.document_prefix = ""
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
    told = {name: getattr(model, name) for name in FIELDS}
    return {**told, "price": None if model.price is None else str(model.price)}


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
