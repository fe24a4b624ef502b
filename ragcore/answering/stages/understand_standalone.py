"""The question without its conversation, its date and its user, as a stage of an answer (D2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from ragcore.answering.pipeline import answer_stage
from ragcore.labels import gettext_noop as _
from ragcore.llm.client import LlmClient
from ragcore.stage_ports import StagePorts
from ragcore.text.scripts import language_of
from ragcore.types import Profile
from ragcore.types.answering import AnswerState, Question, Rewrite, Step
from ragcore.understanding.rewriting import validate_form
from ragcore.understanding.rewriting_rules import full_forms, other_names
from ragcore.understanding.standalone import MOST_TERMS, Standalone, render_history, standalone_by_rules

NAME = "understand.standalone"
MOST_QUERIES = 3  # D2
REPLY_TOKENS = 600
_LANGUAGES = {"zh": "Chinese", "en": "English", "other": "the language of the question"}


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

    A model is asked in a conversation, and for words of time or of the user; what it says is used if it is valid and
    comes within `seconds`. Otherwise, and for all other questions, the rules decide.
    """

    model: bool = True
    seconds: float = 1.0  # D2
    related: bool = True

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        question = state.question
        found = standalone_by_rules(question, ports.tokenizer)
        depends, queries, method = found.depends_on, full_forms(found.text, ports.tokenizer, ports.lexicon), "rules"
        if self.model and ports.llm is not None and (question.history or depends):
            understood = await self._ask_model(ports.llm, question, ports)
            if understood is not None:
                found, queries, method = _merged(found, understood, question), understood.queries, "model"
        related = tuple(Rewrite(text=text, method="related") for text in queries if self.related and text != found.text)
        figures = {
            "method": method,
            "changed": found.changed,
            "depends_on": sorted(found.depends_on),
            "terms": list(found.terms),
            "standalone": found.text,
            "queries": [form.text for form in related],
        }
        if found.changed:
            step = Step(name="standalone", detail=figures)
            await ports.report(step)
            state = state.with_steps(step)
        return replace(state, standalone=found.text, rewrites=(*state.rewrites, *related)).with_stats(NAME, **figures)

    async def _ask_model(self, llm: LlmClient, question: Question, ports: StagePorts) -> Understood | None:
        """What the model says, with its texts checked; None if the question itself is not valid."""
        hasty = replace(llm, seconds=min(self.seconds, llm.seconds))
        reply = await hasty.json(
            "standalone", Understood, temperature=0.0, max_tokens=REPLY_TOKENS, **_values(question)
        )
        if reply is None:
            return None
        said = [text for turn in question.history for text in (turn.question, turn.answer)]
        text = validate_form(reply.standalone, question.text, said, ports.tokenizer)
        if not text:
            llm.counts["invalid"] += 1
            return None
        said += other_names(text, ports.tokenizer, ports.lexicon)
        forms = (validate_form(q, text, said, ports.tokenizer, any_language=True) for q in reply.queries)
        queries = [form for form in dict.fromkeys(forms) if form and form.lower() != text.lower()]
        terms = [term.strip() for term in reply.terms if 0 < len(term.strip()) <= 60]
        return Understood(standalone=text, terms=terms[:MOST_TERMS], queries=queries[:MOST_QUERIES])


def _merged(found: Standalone, understood: Understood, question: Question) -> Standalone:
    """The model's form; a question that it changed in a conversation depends on that."""
    changed = understood.standalone != question.text
    by_history = changed and bool(question.history) and not found.depends_on
    return replace(
        found,
        text=understood.standalone,
        changed=changed,
        terms=tuple(understood.terms) or found.terms,
        depends_on=found.depends_on | ({"history"} if by_history else set()),
    )


def _values(question: Question) -> dict[str, str]:
    return {
        "question": question.text,
        "conversation": render_history(question.history),
        "today": question.today.strftime("%A, %Y-%m-%d") if question.today else "unknown",
        "profile": _described(question.profile),
        "language": _LANGUAGES[language_of(question.text)],
    }


def _described(profile: Profile | None) -> str:
    if profile is None:
        return "unknown"
    known = {"department": profile.department, "product": profile.product, "role": profile.role}
    return "; ".join(f"{name}: {value}" for name, value in known.items() if value) or "unknown"
