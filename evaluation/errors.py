"""Errors of the evaluation app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Plural, Sentence


class InvalidGoldenFileError(PermanentError):
    """A file of golden cases has lines that cannot be used; `data["faults"]` lists (line, message), 1-based."""

    code = "invalid_golden_file"
    default_message = "The file of golden cases has faults."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "lines": "The file of golden cases has faults: %(lines)s",
    }


class NothingToEvaluateError(PermanentError):
    """The golden set has no case."""

    code = "nothing_to_evaluate"
    default_message = "This golden set has no cases yet."


class InvalidGoldenCaseError(PermanentError):
    """A golden case lacks something or has a text that is too long."""

    code = "invalid_golden_case"
    default_message = "This golden case cannot be saved."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "question": "A golden case needs a question.",
        "answer": "A golden case needs expected content: documents, passages, answers, key points or a refusal.",
        "refusal": "A case that expects a refusal names no documents and no answers.",
        "documents": "These documents do not exist, or you may not open them: %(names)s.",
        "grades": "Grades are numbers from 1 to 3, by document or quotation of this case.",
        "length": "The question, an answer or a tag is too long.",
        "withheld": "The golden set has this question already, with a document that you may not open.",
    }


class GoldenLineError(PermanentError):
    """What is wrong with one line of a file of golden cases; its sentences follow "Line 3"."""

    code = "invalid_golden_line"
    default_message = "cannot be used"
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "encoding": "is not UTF-8 text",
        "no_case": "holds no case",
        "header": "must be a header with the columns %(columns)s (the first is required)",
        "too_many_values": "has more values than the header has columns",
        "not_csv": "is not valid CSV: %(problem)s",
        "not_json": "is not valid JSON: %(problem)s",
        "not_an_object": "must be a JSON object",
        "unknown_fields": "has unknown fields: %(names)s",
        "no_question": "has no question",
        "unknown_document": "names the document '%(name)s', which does not exist or which you may not open",
        "withheld": "has the question of a case with a document that you may not open",
        "long_question": Plural(
            "has a question of more than %(limit)s character",
            "has a question of more than %(limit)s characters",
            "limit",
        ),
        "nothing_expected": "has no expected content (answers, relevant, passages, key_points or refusal)",
        "not_a_list": "has %(field)s that are not a list of texts",
        "not_grades": "has %(field)s that are not one number from 1 to 3 for each of %(graded)s",
        "not_a_choice": "has a %(field)s that is none of: %(choices)s",
        "not_storable": "has %(field)s with characters that cannot be stored",
        "many_values": Plural(
            "has %(field)s with more than %(limit)s value", "has %(field)s with more than %(limit)s values", "limit"
        ),
        "long_values": Plural(
            "has %(field)s of more than %(limit)s character", "has %(field)s of more than %(limit)s characters", "limit"
        ),
    }


class RemedyNotOfferedError(PermanentError):
    """A remedy that cannot be applied to this case by this person, or not any more."""

    code = "remedy_not_offered"
    default_message = "This cannot be applied to the case, or has already been applied."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "golden_set": "No golden case was saved: that golden set has this question already, or you may not change it.",
    }


class NoRightAnswerKnownError(PermanentError):
    """Where an answer recovers can only be found out with a passage and an accepted answer."""

    code = "no_right_answer_known"
    default_message = "Mark the passage and an accepted answer first."


class NothingForComponentError(PermanentError):
    """A golden case does not say what a component needs: relevant documents, or an accepted answer."""

    code = "nothing_for_component"
    default_message = "This case has nothing for the component that runs."


class RunNotOpenError(PermanentError):
    """A run is over and cannot be paused, resumed or cancelled."""

    code = "run_not_open"
    default_message = "This run is over."


class RunUnfinishedError(PermanentError):
    """A run that was to be done in this process has failed, or a worker goes on with it."""

    code = "run_unfinished"
    default_message = "Run %(run)s was not finished here. Its page shows its state."


class TooManyConfigurationsError(PermanentError):
    """A run has no configuration, or more than it may."""

    code = "too_many_configurations"
    default_message = "A run needs between 1 and 6 configurations with different names."


class ChangeNotDecidableError(PermanentError):
    """A measured change cannot be published or discarded now."""

    code = "change_not_decidable"
    default_message = "This change is over."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "measuring": "This change is still being measured.",
        "over": "This change is over.",
        "reason": "Publishing a change that has not passed needs a reason.",
        "stale": "The knowledge set has changed since this was measured. Save it again to repeat the measurement.",
    }


class CaseProposalError(PermanentError):
    """Golden cases cannot be looked for in documents."""

    code = "case_proposal"
    default_message = "Golden cases cannot be generated."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "running": "Golden cases are already being generated.",
        "nothing": "The knowledge sets of this golden set have no passage that you may ask.",
        "no_model": "There is no language model that could write questions.",
        "wanted": "Ask for 1 to %(most)s golden cases at a time.",
    }


class InvalidBaselineError(PermanentError):
    """A file is not a baseline that `evaluate --output` has written."""

    code = "invalid_baseline"
    default_message = "This file is not a baseline that evaluate --output has written."


class ExperimentError(PermanentError):
    """An experiment cannot be started or changed as asked."""

    code = "experiment_refused"
    default_message = "The experiment cannot be started or changed with these values."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "forbidden": "A candidate may change settings of search and answer only, not limits or client prompts.",
        "nothing": "The candidate has the same settings as the knowledge set.",
        "running": "An experiment on “%(name)s” is already running.",
        "share": "The share of people must be from %(least)s to %(most)s percent.",
        "ended": "The experiment was rolled back.",
    }


class AdapterTrainingError(PermanentError):
    """A training of query vectors cannot be started, continued or switched."""

    code = "adapter_training"
    default_message = "The query vectors cannot be fitted."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "running": "Query vectors of this set are already being fitted.",
        "origins": "Choose at least one kind of pairs.",
        "few": "There are too few questions to learn from: %(found)s; at least %(least)s are needed.",
        "documents": "The questions are about too few documents: some must be held out to judge the result.",
        "empty": "The set has no passages yet.",
        "model": "The site has changed its embedding model since this training began. Start a new training.",
        "changed": "Documents of the set kept changing during the training. Start it again when they are processed.",
        "over": "This training is over.",
    }


class RerankerFitError(PermanentError):
    """Weights of the reranker cannot be fitted."""

    code = "reranker_fit"
    default_message = "The reranker cannot be fitted."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "running": "The reranker is already being fitted.",
        "golden_sets": "Choose at least one golden set, or what people found helpful.",
        "not_linear": "Another reranker than the built-in one is in use. Fitted weights have no effect on it.",
        "few": "There are too few questions to learn from: %(found)s; at least %(least)s are needed.",
        "documents": "The questions are about too few documents: some must be held out to judge the result.",
        "over": "This training is over.",
    }


class NotEnoughUseError(PermanentError):
    """Too few people have used a set to rank by it."""

    code = "not_enough_use"
    default_message = "Too few people have used this set."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "few": "There is not enough use yet: at least %(answers)s answers whose sources %(people)s people or more have "
        "opened, copied or judged.",
    }
