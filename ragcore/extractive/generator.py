"""Answers without a language model: the best sentences of the sources, quoted and cited."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ragcore.extractive.answer_patterns import (
    asked_extent,
    asks_course,
    asks_procedure,
    asks_several,
    cue_kind,
    definition_subject,
    tells_reasons,
)
from ragcore.extractive.banded_rows import find_covering_rows
from ragcore.extractive.banded_sentences import band_odds
from ragcore.extractive.choice import (
    OTHER_THING,
    Limits,
    SentenceChoice,
    choose_sentences,
    defined_first,
    is_mail_head,
    prefer_full_coverage,
    share_shown,
    stands_in_prose,
    with_rest_of_clause,
    with_tables,
)
from ragcore.extractive.choice_blocks import beside_row_blocks, beside_runs, supplement_blocks, whole_list_blocks
from ragcore.extractive.code_quotes import asked_code, asks_code, gives_code, with_code_set, without_other_code
from ragcore.extractive.comparison import asks_choice, comparison_block
from ragcore.extractive.contrasts import by_side
from ragcore.extractive.direct_answers import direct_block
from ragcore.extractive.document_wish import asks_document, wants_version_of, without_document_wish
from ragcore.extractive.edition_changes import changes_block
from ragcore.extractive.editions import current_first, older_editions
from ragcore.extractive.focus import point_worth
from ragcore.extractive.formatting import (
    Wording,
    document_line,
    is_side_line,
    passage_block,
    point_blocks,
    procedure_blocks,
    section_blocks,
    summary_blocks,
    supplement,
    with_figure,
    with_short_supplement,
    with_source_language,
    wording_for,
)
from ragcore.extractive.former_values import by_time, plain_quotes
from ragcore.extractive.named import (
    about_codes,
    about_named,
    named_titles,
    without_bare_names,
    without_siblings,
)
from ragcore.extractive.order import best_first
from ragcore.extractive.own_language import are_foreign
from ragcore.extractive.quantities import gives_unit, quantity_odds
from ragcore.extractive.questions import split_questions
from ragcore.extractive.reasons import lift_reasons
from ragcore.extractive.records import find_record
from ragcore.extractive.relevance import RelevanceScorer, aspect_coverage
from ragcore.extractive.row_blocks import found_rows_block
from ragcore.extractive.section_overview import wanted_summary
from ragcore.extractive.sections import find_section_answer, find_steps
from ragcore.extractive.sentence_meaning import meaning_scores
from ragcore.extractive.sentence_model import (
    SentenceFeatures,
    SentenceScorer,
    chances_of,
    compute_sentence_features,
)
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.extractive.single_fact import asks_twice
from ragcore.extractive.spans import (
    choose_points,
    choose_runs,
    main_source,
    point_columns,
    with_paragraph,
)
from ragcore.extractive.steps import find_procedure
from ragcore.extractive.styles import quoted, shortened
from ragcore.extractive.summary import summarised_sources, summary_runs
from ragcore.extractive.table_lookup import (
    find_coded_row,
    find_named_cell,
    find_named_rows,
    listed_rows,
)
from ragcore.ports import AnswerPart, Embedder, FloatArray, GenerationEvent, GenerationRequest, Tokenizer
from ragcore.text.question_core import question_core
from ragcore.text.question_type import question_type
from ragcore.text.tokenise import stop_words
from ragcore.types import Source

SPECIFIC = 9  # content words from which a question names many things
FACTS = frozenset({"time", "number"})  # asked for in a sentence or two
NAMED_COLUMNS = 450  # of a fact about a document that the question names
POINTED_CHARACTERS = 700  # of what stands in a document that is asked for; of more the first sentences are enough
DOUBTFUL = 0.5  # the same below which the passage is marked as the one that fits best, and its paragraph completed
MORE_ACROSS = 2  # sentences of an answer from a source in the other language
MORE_COLUMNS = 300  # of such an answer


class ExtractiveGenerator:
    """Implements ports.LLMGenerator by quoting: a core answer from the best source, then at most two further points.

    The text is Markdown in the language of the question; every sentence is verbatim and carries its `[n]`. The form
    follows the question: a table for a comparison, the list of the source for steps, the defining sentence first for a
    definition. Where no sentence stands out, the passage that fits best is quoted and marked as such.
    """

    name = "extractive"

    def __init__(
        self,
        tokenizer: Tokenizer,
        embedder: Embedder | None = None,
        *,
        scorer: SentenceScorer | None = None,
        relevance: RelevanceScorer | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._embedder = embedder
        self._scorer = scorer or SentenceScorer.shipped()
        self._relevance = relevance or RelevanceScorer.shipped()
        self._limits = limits or Limits()

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator; block by block, nothing without sources."""
        for block in await asyncio.to_thread(self.blocks, request):
            yield GenerationEvent(text=block)
        yield GenerationEvent(final=True)

    def blocks(self, request: GenerationRequest) -> list[str]:
        """The answer as Markdown blocks; joined they are the whole text. Empty without usable sentences."""
        texts = [with_code_set(request.question, block, self._tokenizer) for block in self._blocks(request)]
        return [text.lstrip("\n") if at == 0 else text for at, text in enumerate(texts)]

    def _blocks(self, request: GenerationRequest) -> list[str]:
        request = replace(request, sources=(*request.sources, *request.further_sources), further_sources=())
        if request.parts:
            texts = [block for part in request.parts if (block := self._part(part, request))]
            return [block if at == 0 else f"\n\n{block}" for at, block in enumerate(texts)]
        words = wording_for(request.question, request.language)
        statements = read_statements(request.sources, self._tokenizer)
        parts = split_questions(request.question)
        if len(parts) < 2:
            blocks = self._in_style(request.question, request, statements, words)
            return with_source_language(request.question, blocks, words, request.sources)
        answers = [(part, self._in_style(part, request, statements, words)) for part in parts]
        texts = ["".join([f"**{part}**\n\n", *blocks]) for part, blocks in answers if blocks]
        texts = [block if at == 0 else f"\n\n{block}" for at, block in enumerate(texts)]
        return with_source_language(request.question, texts, words, request.sources)

    def _in_style(
        self, question: str, request: GenerationRequest, statements: Sequence[Statement], words: Wording
    ) -> list[str]:
        """The answer in the form that was asked for; a report unless it is to be short or close to the sources."""
        blocks = plain_quotes(question, self._answer(without_document_wish(question), request, statements, words))
        blocks = with_short_supplement(blocks, words) if request.is_follow_up else blocks
        is_long = asks_document(question) and sum(map(len, blocks)) > POINTED_CHARACTERS
        if (is_long or request.style in ("simple", "precise")) and blocks:
            remark = [block for block in blocks[:1] if is_side_line(block, words)]
            blocks = [*remark, self._shorter(question, request, "".join(blocks), statements)]
        line = document_line(blocks, request.sources)
        if blocks and (asks_document(question) or wants_version_of(question, "".join(blocks), line)):
            blocks = [line, *blocks]
        return blocks

    def _shorter(self, question: str, request: GenerationRequest, text: str, statements: Sequence[Statement]) -> str:
        """The best sentences of an answer, or nothing but its quotations."""
        if request.style == "precise":
            return quoted(text)
        features, scores = self._scored(question, statements, request.earlier_question)
        scores = prefer_full_coverage(scores, features)
        worth = {s.text: float(score) for s, score in zip(statements, scores, strict=True)}
        return shortened(text, lambda sentence: worth.get(sentence, -math.inf))

    def _part(self, part: AnswerPart, request: GenerationRequest) -> str:
        """One part with its lead; "" where there is nothing to say."""
        words = wording_for(request.question, request.language)
        if part.is_summary:
            text = "".join(summary_blocks(summary_runs(part.sources, self._tokenizer), words))
        else:
            part_request = replace(request, question=part.question, sources=part.sources, parts=())
            text = "".join(self._blocks(part_request)) if part.sources else ""
        text = text or part.otherwise
        return f"{part.lead}{text}" if text else ""

    def _answer(
        self, question: str, request: GenerationRequest, statements: Sequence[Statement], words: Wording
    ) -> list[str]:
        """The blocks that answer one question. `statements`: the sentences of the sources."""
        sources = request.sources
        if whole := summarised_sources(question, sources, self._tokenizer):
            return wanted_summary(question, whole, self._tokenizer, words)
        score = partial(self._scores, question)
        sentences = [statement for statement in statements if not statement.is_code]  # cells of tables hold no block
        if block := changes_block(question, sentences, request.whole_versions, score, self._tokenizer, words):
            return [block]
        if block := direct_block(question_core(question), sentences, self._tokenizer, words):
            return [block]
        kind = question_type(question)
        is_comparison = kind == "comparison" or asks_choice(question)
        if is_comparison and (block := comparison_block(question, sentences, self._scored, self._tokenizer, words)):
            return [block]
        statements = [statement for statement in statements if not is_mail_head(statement)] or statements
        older = older_editions(sources)
        every = statements
        statements = current_first(question, [statements[at] for at in about_codes(question, statements)], older)
        if covering := find_covering_rows(question, statements, self._tokenizer, is_scale=True):
            return [found_rows_block(covering, words)]
        rows = listed_rows(question, statements, every, self._tokenizer, whole=request.whole_versions)
        if rows is not None:
            return [found_rows_block(rows, words)]
        # what a thing is may be said anywhere, not only in the document that is called after it
        titles = frozenset[str]() if kind == "definition" else named_titles(question, statements, self._tokenizer)
        statements = [statements[at] for at in about_named(statements, titles)]
        statements = without_bare_names(question, statements, self._tokenizer)
        features, scores = self._scored(question, statements, request.earlier_question)
        scores = scores + quantity_odds(question, statements) + gives_code(question, statements, self._tokenizer)
        scores = scores + band_odds(question, statements)
        scores = by_time(question, statements, lift_reasons(question, statements, scores), older, self._tokenizer)
        if (record := find_record(question, statements, scores, self._tokenizer, every=every)) is not None:
            return [found_rows_block(record, words)]
        side = by_side(question, statements, scores, self._tokenizer)
        blocks = self._by_scores(question, sources, features, side.scores, titles, words)
        if not blocks or side.side != "other":
            return blocks
        return [f"**{words.other_side.format(asked=side.asked_word, other=side.other_word)}**\n\n", *blocks]

    def _by_scores(
        self,
        question: str,
        sources: Sequence[Source],
        features: SentenceFeatures,
        scores: FloatArray,
        titles: frozenset[str],
        words: Wording,
    ) -> list[str]:
        """The blocks by how well each sentence answers: a row of codes, steps, a section, or sentences.

        `scores`: float32[n], log-odds of the sentences of `features`; `titles`: titles that the question names.
        """
        statements = features.statements
        if asks_procedure(question) and (row := find_coded_row(question, statements, self._tokenizer)) is not None:
            return [found_rows_block(row, words)]
        in_steps = asks_procedure(question) or asks_course(question)
        if in_steps and (steps := find_procedure(question, statements, scores, self._tokenizer)) is not None:
            return procedure_blocks(steps, words)
        if not features.column("definition").any():
            section = find_section_answer(
                question, sources, self._tokenizer, with_parts=not definition_subject(question)
            )
            if section is not None:
                return section_blocks(section, words)
        if not statements:
            return []
        scores = without_siblings(question, statements, prefer_full_coverage(scores, features))
        return self._by_sentences(question, *without_other_code(question, features, scores), titles, words)

    def _by_sentences(
        self, question: str, features: SentenceFeatures, scores: FloatArray, titles: frozenset[str], words: Wording
    ) -> list[str]:
        """The blocks around the likeliest sentences: their list, steps or row, what explains, or these themselves.

        `scores`: float32[n], log-odds of the sentences of `features`; `titles`: titles that the question names.
        """
        statements, kind = features.statements, question_type(question)
        if covering := find_covering_rows(question, statements, self._tokenizer):
            return [found_rows_block(covering, words)]
        choice = self._choice(question, features, scores, titles)
        if choice.best.is_code and asks_code(question):
            return [passage_block(asked_code(choice, statements, scores), words)]
        wants_list = kind == "process" or cue_kind(question) == "list" or asks_several(question)
        wants_list = wants_list or (cue_kind(question) == "reason" and tells_reasons(choice.best.heading))
        if wants_list and (listed := whole_list_blocks(choice, statements, words, numbered=kind == "process")):
            return listed
        if steps := find_steps(question, choice.best, statements):
            return [point_blocks([[step] for step in steps], words)[0]]
        if choice.best.head and (
            named_rows := find_named_rows(question_core(question), choice.best, statements, self._tokenizer)
        ):
            beside = beside_row_blocks(choice, words) if asks_twice(question) else []
            return [found_rows_block(named_rows, words), *beside]
        if not choice.best.head and (cell := find_named_cell(question_core(question), statements, self._tokenizer)):
            return [found_rows_block(cell, words), *beside_row_blocks(choice, words)]
        gives_value = gives_unit(question, [choice.best]).any()
        if (
            not gives_value
            and stands_in_prose(choice.best, statements)
            and (explained := self._explanation(question, features, scores, choice, titles, words))
        ):
            return explained
        choice = defined_first(choice, features, scores)
        lead = [f"**{words.closest}**\n\n"] if share_shown(choice, statements, scores) < DOUBTFUL else []
        choice = choice if kind == "definition" else with_rest_of_clause(choice, statements, scores, question)
        ordered = best_first(choice.core, choice.best, features, scores) if kind != "process" else choice.core
        core = [replace(s, text=with_figure(question, s.text)) if s is choice.best else s for s in ordered]
        return [*lead, passage_block(with_tables(core, statements), words), *supplement_blocks(choice, words)]

    def _choice(
        self, question: str, features: SentenceFeatures, scores: FloatArray, titles: frozenset[str]
    ) -> SentenceChoice:
        """The likeliest sentences; more from the other language, where it is less certain which of them answers."""
        statements = features.statements
        limits = replace(self._limits, most_columns=NAMED_COLUMNS) if titles else self._limits
        if are_foreign(question, [statements[int(scores.argmax())]]).any():
            limits = limits.more(sentences=MORE_ACROSS, columns=MORE_COLUMNS)
        return choose_sentences(statements, scores, limits, question)

    def _scored(
        self, question: str, statements: Sequence[Statement], earlier_question: str = ""
    ) -> tuple[SentenceFeatures, FloatArray]:
        """Features and log-odds of sentences, by words and by meaning.

        `earlier_question`: the question behind the one before it, in a conversation; then the mean of both.
        """
        features = compute_sentence_features(question, statements, self._tokenizer)
        scores = meaning_scores(question, statements, self._scorer.scores(features), self._embedder, self._tokenizer)
        if not earlier_question:
            return features, scores
        return features, np.asarray((scores + self._scored(earlier_question, statements)[1]) / 2, np.float32)

    def _scores(self, question: str, statements: Sequence[Statement]) -> FloatArray:
        return self._scored(question, statements)[1]

    def _explanation(
        self,
        question: str,
        features: SentenceFeatures,
        scores: FloatArray,
        choice: SentenceChoice,
        titles: frozenset[str],
        words: Wording,
    ) -> list[str]:
        """Points for a question that names many things, connected sentences for one that asks for more than a fact.

        `titles`: titles that the question names.
        """
        statements, is_broad = features.statements, asks_several(question) or len(titles) > 1
        if not is_broad and (features.kind in FACTS or features.column("definition").any()):
            return []
        is_specific = len(set(self._tokenizer.words(question)) - stop_words()) >= SPECIFIC
        if is_broad or (is_specific and cue_kind(question) in ("reason", "manner")):
            worth = point_worth(question, statements, scores, titles, self._tokenizer)
            most = point_columns(question, asked_extent(question, names=len(titles)))
            return point_blocks(choose_points(statements, worth, question, most_columns=most), words)
        if is_specific:
            return []
        aspects = aspect_coverage(question, statements, self._tokenizer)
        places = main_source(statements, scores, aspects)
        same = places[scores[places] > scores.max() - OTHER_THING]
        places = same if len(same) else places
        runs = choose_runs(
            statements, places, self._relevance.probabilities(features, scores, aspects, question), question
        )
        chances = {id(s): float(chance) for s, chance in zip(statements, chances_of(scores), strict=True)}
        if sum(chances[id(s)] for s in runs) < DOUBTFUL and runs and runs[0].source is choice.best.source:
            runs = with_paragraph(runs, choice.best, statements, question)
        runs = runs if cue_kind(question) == "manner" else best_first(runs, choice.best, features, scores)
        quoted_runs = [
            replace(s, text=with_figure(question, s.text)) if s is choice.best else s
            for s in with_tables(runs, statements)
        ]
        lead = [f"**{words.closest}**\n\n"] if sum(chances[id(s)] for s in runs) < DOUBTFUL else []
        missing = beside_runs(question, runs, statements, chances)
        beside = [supplement([[s] for s in missing], words)] if missing else []
        return [*lead, passage_block(quoted_runs, words), *beside] if quoted_runs else []
