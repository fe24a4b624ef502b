"""Resolves the options of one question from product, mode, site, set, preset and request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, cast

from accounts.scope import Scope
from chat.answering.experiments import Assignment, assign
from chat.answering.stage_plans import is_loop_off
from chat.types import AnswerRequest
from knowledge import model_registry
from knowledge.model_setup import setup_now, setup_refresh
from knowledge.models import KnowledgeSet
from knowledge.options_draft import NO_DRAFT, Stored
from knowledge.selectors import sets_readable
from knowledge.selectors.options import site_options
from knowledge.types import RetrievalMode
from ragcore.extractive import RULES_VERSION
from ragcore.llm.model_profile import profile_of
from ragcore.options import AnswerOptions, Resolved, VoiceOptions, options_sha256, resolve
from ragcore.presets import mode_layers, preset, preset_retrieval_mode
from ragcore.prompts import load

HISTORY_TOKENS = 4000  # of a prompt with its earlier turns; older ones are summarised
PROMPT_TOKENS = 800  # of rules and question, which the history's tokens count, too
LEAST_ROOM_TOKENS = 512
LEAST_LATENCY = 0.001  # seconds; a client's 0 asks for the fastest model, where an option of 0 is no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerConfig:
    """The resolved options of one question, with prompts and search options of the set that is asked alone."""

    options: AnswerOptions = field(default_factory=AnswerOptions)
    origin: Mapping[str, str] = field(default_factory=dict)  # option -> the layer that it came from
    persona: str = ""
    template: str = ""  # headings and order of the answer, of the set that is asked alone
    voice: VoiceOptions = field(default_factory=VoiceOptions)  # house style, behind the rules of the prompt
    system_prompt: str = ""  # behind the product's, where every set that is asked permits it
    is_free_only: bool = False  # the client allows no cost at all; options.max_cost of 0 is no limit
    retrieval: Mapping[str, object] = field(default_factory=dict)  # the set's own options of the search
    mode_retrieval: Mapping[str, object] = field(default_factory=dict)  # below those of site and set
    preset_retrieval: Mapping[str, object] = field(default_factory=dict)  # above them
    retrieval_mode: RetrievalMode | None = None  # of the preset
    candidate_retrieval: Mapping[str, object] = field(default_factory=dict)  # of an experiment, above the set's own
    history_tokens: int = HISTORY_TOKENS  # fewer where the models have less room
    experiment: str = ""  # "id:arm" where one runs on the set that is asked alone; what it changes is in the options

    @property
    def retrieval_above_set(self) -> dict[str, object]:
        """Options of the search that stand above those of the set."""
        return {**self.candidate_retrieval, **self.preset_retrieval}

    def sha256(self) -> str:
        """Fingerprint of everything but the question that shapes an answer, stored with it and part of cache keys."""
        model = model_registry.chat_model()
        prompts = [
            load(name).sha256
            for name in ("answer_system", "answer_user", "answer_voice", f"style_{self.options.style}")
        ]
        used = ConfigFingerprint(
            model=model.name if model else "",
            embedder=model_registry.live_model(),
            reranker=setup_now().reranker.client,
            registry=model_registry.models_fingerprint(),
            prompts=tuple(prompts),
            persona=self.persona,
            voice=asdict(self.voice),
            template=self.template,
            system_prompt=self.system_prompt,
            is_free_only=self.is_free_only,
            rules=RULES_VERSION,
            retrieval={**self.mode_retrieval, **self.retrieval, **self.preset_retrieval, "mode": self.retrieval_mode},
        )
        return options_sha256(self.options, used)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFingerprint:
    """What shapes an answer besides its options."""

    model: str
    embedder: str
    reranker: str
    registry: str  # of registered models
    prompts: tuple[str, ...]  # fingerprints
    persona: str
    voice: Mapping[str, str]
    template: str
    system_prompt: str
    is_free_only: bool
    rules: str  # by which answers are quoted
    retrieval: Mapping[str, object]


def resolve_answer_config(*, scope: Scope, request: AnswerRequest) -> AnswerConfig:
    """Options in layers: default, mode, site, the set that is asked alone, preset, request. Uses the ORM.

    Mode and preset are options themselves and are found first; the mode that the client names is the one. Of limits of
    cost and time the smallest one holds: a client can lower what the site allows and never raise it.
    """
    setup_refresh()
    alone = only_set(scope=scope, sets=request.sets)
    draft, of_site = request.draft, site_options(tenant_id=scope.tenant_id, draft=request.draft)
    site = ("site", of_site.get("answer", {}))
    assigned = Assignment(options=draft.sets.get(alone.pk, alone.options) if alone else {})
    if alone is not None and request.personal and draft == NO_DRAFT:  # measurements take no part in experiments
        assigned = assign(scope=scope, knowledge_set=alone)
    of_set = (f"set {alone.code}", assigned.options.get("answer", {})) if alone else ("set", {})
    of_request = ("request", sent_options(request))
    word = resolve(AnswerOptions, site, of_set, of_request).value.preset
    chosen = preset(word)
    of_preset = (f"preset {word}", chosen.get("answer", {}))
    with_preset = resolve(AnswerOptions, site, of_set, of_preset, of_request).value
    mode = mode_layers(with_preset.mode)
    of_mode = {**mode.get("answer", {})}
    if is_loop_off(with_preset):
        of_mode["tiered"] = True  # without its loop a mode writes with the model that the question needs
    resolved = _limited(
        resolve(AnswerOptions, ("mode", of_mode), site, of_set, of_preset, of_request), site, of_set, of_preset
    )
    resolved = _uncompressed_where_quoted(resolved)
    resolved, history_tokens = _within_context(resolved, model_registry.least_context_tokens())
    return AnswerConfig(
        options=resolved.value,
        origin=resolved.origin,
        persona=draft.text(alone.pk, "persona", alone.persona) if alone else "",
        template=draft.text(alone.pk, "answer_template", alone.answer_template) if alone else "",
        voice=_voice(of_site, assigned.options if alone else {}),
        system_prompt=_own_prompt(scope, request, resolve(AnswerOptions, site).value.own_prompts),
        is_free_only=request.constraints.max_cost_per_query == 0,
        retrieval=assigned.options.get("retrieval", {}),
        mode_retrieval=mode.get("retrieval", {}),
        retrieval_mode=cast("RetrievalMode | None", preset_retrieval_mode(word)),
        preset_retrieval=chosen.get("retrieval", {}),
        history_tokens=history_tokens,
        experiment=assigned.experiment,
        candidate_retrieval=assigned.retrieval,
    )


def _voice(site: Stored, of_set: Stored) -> VoiceOptions:
    """The house style of the site, below that of the set that is asked alone. Requests do not change it."""
    return resolve(VoiceOptions, ("site", site.get("voice", {})), ("set", of_set.get("voice", {}))).value


def only_set(*, scope: Scope, sets: Sequence[int]) -> KnowledgeSet | None:
    """The set that is asked alone, whose options hold; None for several, for all, and for an unreadable one."""
    return sets_readable(scope=scope).filter(pk=sets[0]).first() if len(sets) == 1 else None


def _own_prompt(scope: Scope, request: AnswerRequest, is_allowed_by_site: bool) -> str:
    """The client's prompt, if every set that is asked permits it; a set that does not say takes the site's option."""
    if not request.system_prompt:
        return ""
    sets = sets_readable(scope=scope)
    if request.sets:
        sets = sets.filter(pk__in=request.sets)
    permissions = set(sets.values_list("options__answer__own_prompts", flat=True)) or {None}
    allowed = all(is_allowed_by_site if permission is None else permission for permission in permissions)
    return request.system_prompt if allowed else ""


def _limited(resolved: Resolved[AnswerOptions], *layers: tuple[str, Mapping[str, object]]) -> Resolved[AnswerOptions]:
    """The same with the smallest limit of cost and of time: of the client, and of the layers before it."""
    before = [resolve(AnswerOptions, *layers[:-1]), resolve(AnswerOptions, layers[-1])]
    values, origin = {}, dict(resolved.origin)
    for name in ("max_cost", "max_latency"):
        limits = [r for r in (*before, resolved) if getattr(r.value, name) > 0]
        if limits:
            least = min(limits, key=lambda r: getattr(r.value, name))
            values[name], origin[name] = getattr(least.value, name), least.origin[name]
    return Resolved(replace(resolved.value, **values), origin)


def _uncompressed_where_quoted(resolved: Resolved[AnswerOptions]) -> Resolved[AnswerOptions]:
    """The same without the compression that a mode brings, where no model reads the sources.

    It makes room in a prompt; of quotations it can only lose some. Whoever asks for it gets it.
    """
    if resolved.origin.get("compression_method") != "mode" or not is_quoting():
        return resolved
    return Resolved(replace(resolved.value, compression_method="none"), resolved.origin)


def is_quoting() -> bool:
    """Whether answers are quoted: without a language model, or with one that chooses a sentence at most."""
    return model_registry.chat_model() is None or profile_of(model_registry.generator()).is_quoting


def _within_context(
    resolved: Resolved[AnswerOptions], context_tokens: int | None
) -> tuple[Resolved[AnswerOptions], int]:
    """The same with no more sources than the models have room for beside rules and answer, and tokens of the history.

    Of the room, sources get three quarters, earlier turns the rest. Options that are within it stay as they are.
    """
    options = resolved.value
    if context_tokens is None:
        return resolved, HISTORY_TOKENS
    answer = min(options.max_tokens, context_tokens // 3)
    room = max(context_tokens - answer - PROMPT_TOKENS, LEAST_ROOM_TOKENS)
    most = {"max_tokens": answer, "context_tokens": room * 3 // 4}
    values: dict[str, Any] = {name: limit for name, limit in most.items() if getattr(options, name) > limit}
    origin = {**resolved.origin, **dict.fromkeys(values, "model")}
    return Resolved(replace(options, **values), origin), min(HISTORY_TOKENS, room // 4 + PROMPT_TOKENS)


def sent_options(request: AnswerRequest) -> dict[str, object]:
    """The options that the client sent, under their names in AnswerOptions; those left out inherit."""
    options = {f.name: getattr(request, f.name) for f in fields(AnswerOptions) if f.name in request.given}
    options = {name: value for name, value in options.items() if value is not None}
    if request.use_agentic_rag is not None:
        options["agentic"] = "on" if request.use_agentic_rag else "off"
        if request.use_agentic_rag:
            options.setdefault("mode", "agentic")
    if request.use_tiered_generation is not None:
        options["tiered"] = request.use_tiered_generation
    limits = request.constraints
    if limits.max_cost_per_query:  # 0 is no option but AnswerConfig.is_free_only
        options["max_cost"] = float(limits.max_cost_per_query)
    if limits.max_latency is not None:
        options["max_latency"] = max(float(limits.max_latency), LEAST_LATENCY)
    return options
