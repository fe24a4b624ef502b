"""What is known of the question before any search, each a stage of an answer.

The question without its conversation, its kind, the plan that follows from it, and other forms to search with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field

from ragcore.answering.pipeline import answer_stage
from ragcore.labels import gettext_noop as _
from ragcore.llm.client import LlmClient
from ragcore.llm.model_profile import profile_of
from ragcore.prompts.languages import language_name
from ragcore.stage_ports import StagePorts
from ragcore.text.question_core import question_core
from ragcore.text.scripts import columns, language_of
from ragcore.types import Profile
from ragcore.types.answering import (
    Analysis,
    AnswerState,
    FactTarget,
    Question,
    QuestionType,
    Rewrite,
    Step,
    StrategyName,
)
from ragcore.understanding.analysis import analyse_by_rules, analyse_question
from ragcore.understanding.rewriting import (
    RelatedForms,
    choose_method,
    related_queries,
    rewrite_question,
    validate_form,
)
from ragcore.understanding.rewriting_rules import full_forms, other_names
from ragcore.understanding.standalone import MOST_TERMS, Standalone, render_history, standalone_by_rules

NAME = "understand.standalone"
MOST_QUERIES = 3
FORM_SECONDS = 1.0  # from the question to its other forms, of which nobody has chosen how they are made
PROMPT_TOKENS = 500  # of a question with its conversation
STORY_SHARE = 0.7  # of a message's columns, the most that the part which asks may have beside a story
REPLY_TOKENS = 600
LEAST_REPLY_TOKENS = 60

LoopName = Literal["none", "agentic", "self_rag", "iterative"]
# What the cue of a question changes besides.
BY_CUE: Mapping[QuestionType, Mapping[str, int | bool]] = {
    "definition": {},
    "process": {"whole_sections": True},
    "comparison": {"top_k": 16, "max_chunks": 14},
    "application": {"top_k": 12},
    "general": {},
}


class Understood(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="ignore")
    standalone: str
    terms: list[str] = Field(default_factory=list, max_length=50)
    queries: list[str] = Field(default_factory=list, max_length=20)


@answer_stage(NAME, label=_("standalone question"), timing="rewrite")
@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstandStandalone:
    """Sets state.standalone, and state.rewrites to related queries (abbreviations written out, those of the model).

    What a message within a story asks is searched for by itself, too, also without `related`.

    A model is asked in a conversation, and for words of time or of the user, unless its exam found it too slow for
    that; what it says is used if it is valid and comes within `seconds`. Otherwise, and for all other questions, the
    rules decide.
    """

    model: bool = True
    seconds: float = FORM_SECONDS
    related: bool = True

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        question = state.question
        by_rules = standalone_by_rules(question, ports.tokenizer)
        method, queries, is_late = "rules", list[str](), False
        if self.model and ports.llm is not None and (question.history or by_rules.depends_on):
            late = ports.llm.counts["late"]
            understood = await self._ask_model(ports.llm, question, ports)
            is_late = ports.llm.counts["late"] > late
            if understood is not None:
                by_rules, queries, method = _merged(by_rules, understood, question), understood.queries, "model"
        if self.related:
            queries = [*full_forms(by_rules.text, ports.tokenizer, ports.lexicon), *queries][:MOST_QUERIES]
        queries = [*_without_story(by_rules.text), *(queries if self.related else ())]
        related = tuple(Rewrite(text=text, method="related") for text in queries if text != by_rules.text)
        figures: dict[str, Any] = {
            "method": method,
            "changed": by_rules.changed,
            "depends_on": sorted(by_rules.depends_on),
            "terms": list(by_rules.terms),
            "standalone": by_rules.text,
            "queries": [form.text for form in related],
        }
        if is_late:
            figures["late"] = True  # what the model wrote until then is dropped
        if by_rules.changed:
            step = Step(name="standalone", detail=figures)
            await ports.report(step)
            state = state.with_steps(step)
        return replace(state, standalone=by_rules.text, rewrites=(*state.rewrites, *related)).with_stats(
            NAME, **figures
        )

    async def _ask_model(self, llm: LlmClient, question: Question, ports: StagePorts) -> Understood | None:
        """What the model says, with its texts checked; None if the question itself is not valid."""
        profile = profile_of(llm.model)
        if profile.writes_within(self.seconds, prompt_tokens=PROMPT_TOKENS, tokens=LEAST_REPLY_TOKENS) is False:
            return None
        hasty = replace(llm, seconds=min(self.seconds, llm.seconds))
        reply = await hasty.json(
            "standalone", Understood, temperature=0.0, max_tokens=REPLY_TOKENS, **_values(question)
        )
        if reply is None:
            return None
        context = [text for turn in question.history for text in (turn.question, turn.answer)]
        text = validate_form(reply.standalone, question.text, context, ports.tokenizer)
        if not text:
            llm.counts["invalid"] += 1
            return None
        context += other_names(text, ports.tokenizer, ports.lexicon)
        forms = (validate_form(q, text, context, ports.tokenizer, any_language=True) for q in reply.queries)
        queries = [form for form in dict.fromkeys(forms) if form and form.lower() != text.lower()]
        terms = [term.strip() for term in reply.terms if 0 < len(term.strip()) <= 60]
        return Understood(standalone=text, terms=terms[:MOST_TERMS], queries=queries[:MOST_QUERIES])


def _without_story(question: str) -> list[str]:
    """The part of a message that asks, where it is told within a story; the words of the story are in no document."""
    core = question_core(question)
    return [core] if columns(core) <= STORY_SHARE * columns(question) else []


def _merged(by_rules: Standalone, understood: Understood, question: Question) -> Standalone:
    """The model's form; a question that it changed in a conversation depends on that."""
    changed = understood.standalone != question.text
    by_history = changed and bool(question.history) and not by_rules.depends_on
    return replace(
        by_rules,
        text=understood.standalone,
        changed=changed,
        terms=tuple(understood.terms) or by_rules.terms,
        depends_on=by_rules.depends_on | ({"history"} if by_history else set()),
    )


def _values(question: Question) -> dict[str, str]:
    return {
        "question": question.text,
        "conversation": render_history(question.history),
        "today": question.today.strftime("%A, %Y-%m-%d") if question.today else "unknown",
        "profile": _described(question.profile),
        "language": language_name(language_of(question.text)),
    }


def _described(profile: Profile | None) -> str:
    if profile is None:
        return "unknown"
    fields = {"department": profile.department, "product": profile.product, "role": profile.role}
    return "; ".join(f"{name}: {value}" for name, value in fields.items() if value) or "unknown"


@answer_stage("understand.analysis", label=_("analysis of the question"), timing="rewrite")
@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstandAnalysis:
    """Sets state.analysis, and the same as figures. By rules unless `model` is on and there is one."""

    model: bool = True
    target: str = ""  # given by the caller instead of found; no word of FactTarget: found

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        llm = ports.llm if self.model else None
        analysis = await analyse_question(
            state.query, history=state.question.history, tokenizer=ports.tokenizer, llm=llm
        )
        if self.target in get_args(FactTarget):
            analysis = replace(analysis, target=cast(FactTarget, self.target))
        figures = asdict(analysis) | {"reasons": list(analysis.reasons)}
        step = Step(name="analysis", detail=figures)
        await ports.report(step)
        return replace(state, analysis=analysis).with_steps(step).with_stats("understand.analysis", **figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one question is answered."""

    strategy: StrategyName
    rewrite_method: str  # one of ragcore.options.REWRITE_METHODS
    loop: LoopName = "none"
    top_k: int = 10  # passages of one search
    max_chunks: int = 10  # of them in the context, at most
    whole_sections: bool = False  # steps and lists are worth more in one piece
    reasons: tuple[str, ...] = ()


PLANS: Mapping[StrategyName, Plan] = {
    "direct": Plan(strategy="direct", rewrite_method="none"),
    "hyde": Plan(strategy="hyde", rewrite_method="hyde"),
    "decomposition": Plan(strategy="decomposition", rewrite_method="decompose", top_k=15, max_chunks=12),
    "iterative": Plan(strategy="iterative", rewrite_method="none", loop="iterative", top_k=12, max_chunks=12),
    "hybrid": Plan(strategy="hybrid", rewrite_method="multi", top_k=15, max_chunks=12),
}


def build_plan(analysis: Analysis) -> Plan:
    """The plan of a strategy, widened by the cue of the question, never narrowed. `reasons`: those of the analysis."""
    plan = PLANS[analysis.strategy]
    wider = {name: max(getattr(plan, name), value) for name, value in BY_CUE[analysis.cue].items()}
    if analysis.kind == "aggregation":
        wider |= {"top_k": max(20, int(wider.get("top_k", plan.top_k))), "max_chunks": 15}
    return replace(plan, **wider, reasons=(*analysis.reasons, f"cue:{analysis.cue}"))  # type: ignore[arg-type]


@answer_stage("plan.adaptive", label=_("choice of a strategy"))
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAdaptive:
    """Chooses by the analysis (made by rules if no stage has made one) and tells why; the caller asks `plan_of`."""

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        analysis = state.analysis or analyse_by_rules(
            state.query, history=state.question.history, tokenizer=ports.tokenizer
        )
        figures = asdict(build_plan(analysis)) | {"reasons": list(build_plan(analysis).reasons)}
        step = Step(name="plan", detail=figures)
        await ports.report(step)
        return replace(state, analysis=analysis).with_steps(step).with_stats("plan.adaptive", **figures)


@answer_stage("rewrite", label=_("other forms of the question"), timing="rewrite")
@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteQuestion:
    """Adds to state.rewrites; the method "none" (and every unknown one) leaves the question alone in all its forms.

    With "auto" a model that is quick enough by its exam writes related queries, too, within `seconds`; late ones are
    dropped. In a conversation it has been asked for them with the standalone question. `in_streams`: the method by
    which a model rewrites where "auto" means a possible answer, for which no stream waits; "": none.
    """

    method: str = "auto"
    streaming: bool = False  # the reader waits for the first word
    in_streams: str = ""
    most: int | None = None  # other forms in all, those of the method first; None: any number
    seconds: float = FORM_SECONDS

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        question, query, has_model = state.question, state.query, ports.llm is not None
        choose = partial(choose_method, self.method, query=query, question=question, has_model=has_model)
        chosen = choose(streaming=self.streaming)
        if self.in_streams and self.streaming and self.method == "auto" and has_model:
            at_leisure = choose(streaming=False)
            chosen = self.in_streams if at_leisure == "hyde" else chosen
        if chosen == "hyde" and ports.llm is not None:  # the slowest form: the reader sees what is waited for
            await ports.report(Step(name="rewrite", detail={"method": chosen, "begins": True}))
        rewriting = rewrite_question(query, chosen, question=question, ports=ports, streaming=self.streaming)
        related, forms_made = await asyncio.gather(self._related(state, ports), rewriting)
        # "auto" may come to "none" for itself; only who asks for no other form loses those that are there
        earlier_forms = () if chosen == "none" and self.method != "auto" else state.rewrites
        earlier_forms = (*earlier_forms, *related.forms[: max(MOST_QUERIES - len(earlier_forms), 0)])
        forms = (*earlier_forms, *forms_made) if self.most is None else (*forms_made, *earlier_forms)
        rewrites = tuple({form.text: form for form in forms}.values())[: self.most]
        method = "related" if chosen == "none" and related.forms else chosen
        figures: dict[str, Any] = {"method": method, "queries": [form.text for form in rewrites]}
        if related.is_late:
            figures["late"] = True
        texts = [form.text for form in rewrites if form.is_for_people]
        step = Step(name="rewrite", detail={**figures, "queries": texts})
        if forms_made or related.forms:
            await ports.report(step)
            state = state.with_steps(step)
        return replace(state, rewrites=rewrites).with_stats("rewrite", **figures)

    async def _related(self, state: AnswerState, ports: StagePorts) -> RelatedForms:
        """Related queries of a question for which no model has been asked yet."""
        has_asked = bool(state.question.history or state.stats.get(NAME, {}).get("depends_on"))
        if self.method != "auto" or has_asked:
            return RelatedForms()
        return await related_queries(state.query, ports=ports, seconds=self.seconds)
