"""Training of the shipped models, on public sets; without a database.

    python -m ragcore.training sentences DIR …    ragcore/extractive/extractive_weights.json
    python -m ragcore.training sentence-meaning DIR …   ragcore/extractive/sentence_meaning.MODEL.json
    python -m ragcore.training sentence-reading DIR …   "compared" and "read" in it, after pairs
    python -m ragcore.training relevance DIR …    ragcore/extractive/relevance_weights.json
    python -m ragcore.training refusals DIR …     ragcore/answerability/weights.json
    python -m ragcore.training meaning DIR …      ragcore/answerability/meaning_weights.MODEL.json, with --across DIR …
    python -m ragcore.training support DIR …      ragcore/grounding/support_model.json, with --out
    python -m ragcore.training reranker DIR …     ragcore/reranking/linear_reranker.MODEL.json
    python -m ragcore.training support-meaning DIR …   ragcore/grounding/support_meaning.MODEL.json, with --across
    python -m ragcore.training pairs DIR …        ragcore/embedding/e5_pairs_1.npz, with --out and --tables
    python -m ragcore.training rotation           ragcore/embedding/embedded_rotation_1.npz, with --out; reads no set
    python -m ragcore.training centres            ragcore/embedding/e5_centres_1.npy, with --out; reads no set

DIR holds corpus.jsonl, queries.jsonl with answers, qrels.tsv, and for refusals perhaps unanswerable.jsonl; for
relevance answerable.jsonl and unanswerable.jsonl with chosen sentences. Sentences and refusals train on one half of the
titles (--half 0). MODEL is the name of the model of --embedder: weights that read cosines are kept by it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import ragcore.answerability.model
import ragcore.extractive.relevance
import ragcore.extractive.sentence_meaning
import ragcore.extractive.sentence_model
import ragcore.grounding.support_model
import ragcore.reranking.linear
from ragcore.answerability.across import FEATURES as ACROSS
from ragcore.answerability.features import FEATURES as GATE_FEATURES
from ragcore.answerability.model import MEANING_FILE
from ragcore.embedding.e5 import E5Small
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.embedding.rotation import PREFIX, projection_pack
from ragcore.extractive.relevance import feature_names
from ragcore.extractive.sentence_model import FEATURES as SENTENCE_FEATURES
from ragcore.fitted_weights import file_of
from ragcore.grounding.support_model import FEATURES as SUPPORT_FEATURES
from ragcore.grounding.support_model import MEANING, SupportModel
from ragcore.grounding.support_model import MEANING_FILE as SUPPORT_MEANING_FILE
from ragcore.reranking.linear import CLIFF, LinearReranker
from ragcore.reranking.linear import FEATURES as RERANKER_FEATURES
from ragcore.text.glossary import CedictGlossary
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training import refusal_training, relevance_training, sentence_training, support_meaning_training
from ragcore.training.answer_sets import AnswerSet, answer_set, folder_name
from ragcore.training.centre_training import centres_fitted
from ragcore.training.embedders import embedder_arguments, given_embedder, scripts_read, training_embedder
from ragcore.training.meaning_training import across_fit, meaning_fit, script_of_set
from ragcore.training.pair_commands import train_pairs, train_sentence_reading
from ragcore.training.refusal_training import visible_thresholds
from ragcore.training.relevance_training import explained_questions
from ragcore.training.reranker_training import ranked_lists, reranker_train
from ragcore.training.rotation_training import fitting_texts, rotation_fitted
from ragcore.training.sentence_meaning_training import (
    NAMES,
    first_right,
    meaning_lists,
    sentence_meaning_fit,
)
from ragcore.training.support_examples import examples
from ragcore.training.support_training import (
    HEAD,
    best_threshold,
    by_kind,
    cross_validated,
    fitted,
    probabilities,
    score_method,
    table,
)

DIGITS = 5  # of a weight
WITH_VECTORS = 1000  # sentences from which the weights with vectors are fitted

WITHOUT_FOLDERS = frozenset({"rotation", "centres"})
WITH_CHOSEN = frozenset({"support", "support-meaning", "relevance"})  # that read folders of another form


def read_answer_sets(args: argparse.Namespace) -> list[AnswerSet]:
    """The folders, ranked with the embedder of `--embedder`."""
    tokenizer, embedder = JiebaTokenizer(glossary=CedictGlossary(args.models)), given_embedder(args)
    return [answer_set(d, tokenizer=tokenizer, counter=counter(), embedder=embedder) for d in args.folders]


def train_sentences(args: argparse.Namespace) -> None:
    """Fit on one half of the titles and write the weights with their record."""
    lists = [
        ranked
        for data in read_answer_sets(args)
        for ranked in sentence_training.sentence_lists(data, half=args.half or 0, limit=args.limit)
    ]
    weights = sentence_training.sentences_fit(lists)
    groups = dict.fromkeys(ranked.group for ranked in lists)
    first = {
        g: round(sentence_training.first_right([ranked for ranked in lists if ranked.group == g], weights), 4)
        for g in groups
    }
    _write(
        ragcore.extractive.sentence_model,
        {"features": list(SENTENCE_FEATURES), "weights": _rounded(weights)},
        {"questions": len(lists), "right_sentence_first": first},
        args,
    )


def train_sentence_meaning(args: argparse.Namespace) -> None:
    """Fit to one half of the titles; tell how well it does on the other one."""
    embedder, half = training_embedder(args.embedder, args.models), args.half or 0
    sets = read_answer_sets(args)
    fitting, testing = (
        [pairs for data in sets for pairs in meaning_lists(data, embedder=embedder, half=half_, limit=args.limit)]
        for half_ in (half, 1 - half)
    )
    weights = sentence_meaning_fit(fitting)
    _write(
        ragcore.extractive.sentence_meaning,
        {name: round(value, DIGITS) for name, value in weights.items()},
        {
            "questions": len(fitting),
            "right_sentence_first": first_right(testing, weights),
            "by_words": first_right(testing, dict.fromkeys(NAMES, 0.0)),
        },
        args,
        embedder.model,
    )


def train_relevance(args: argparse.Namespace) -> None:
    """Fit on all articles, tell how well weights of other articles do, and write the weights."""
    reader = given_embedder(args)
    questions = [
        question
        for folder in args.folders
        for question in explained_questions(folder, tokenizer=JiebaTokenizer(), counter=counter(), embedder=reader)
    ]
    figures = np.array(relevance_training.cross_validated(questions))
    _write(
        ragcore.extractive.relevance,
        {"features": list(feature_names()), "weights": _rounded(relevance_training.relevance_fit(questions))},
        {
            "sources": "CLAP NQ (Apache-2.0; passages CC BY-SA 3.0)",
            "questions": len(questions),
            "f1_five_folds_by_article": round(float(figures[:, 0].mean()), 4),
            "mean_characters": round(float(figures[:, 1].mean())),
        },
        args,
    )


def train_refusals(args: argparse.Namespace) -> None:
    """Fit on one half of the titles, draw the thresholds on the other one, and write both."""
    loaded, half = read_answer_sets(args), args.half or 0
    groups = [refusal_training.groups_of(data, half=half, limit=args.limit) for data in loaded]
    weights = refusal_training.scripts_fit(groups)
    thresholds = visible_thresholds(loaded, weights, half=1 - half, limit=args.limit)
    _write(
        ragcore.answerability.model,
        {
            "signs": list(GATE_FEATURES),
            "weights": {script: _rounded(values) for script, values in weights.items()},
            "rates": list(refusal_training.RATES),
            "thresholds": thresholds,
        },
        {
            "answerable": sum(len(group.answered.matrix) for group in groups),
            "unanswerable": sum(len(lost.matrix) for group in groups for lost in group.lost.values()),
        },
        args,
    )


def train_reranker(args: argparse.Namespace) -> None:
    """Fit on all questions, or on one half of the articles; tell how well it does on articles not fitted to."""
    lists = [
        ranked
        for data in read_answer_sets(args)
        for ranked in ranked_lists(data, limit=args.limit, half=args.half, is_one_title=data.name in args.within)
    ]
    near = np.array(LinearReranker.shipped(EmbeddedEmbedder.model).weights, np.float32)
    trained = reranker_train(lists, near=near)
    for name, (before, after) in trained.held_out.items():
        print(f"{name}: nDCG@10 among the candidates, by cosine {before:.4f}, reranked {after:.4f}")
    _write(
        ragcore.reranking.linear,
        {"features": list(RERANKER_FEATURES), "weights": _rounded(trained.weights), "cliff": CLIFF},
        {
            "questions": trained.questions,
            "cross_validated_ndcg10": {
                name: {"by_cosine": round(before, 4), "reranked": round(after, 4)}
                for name, (before, after) in trained.held_out.items()
            },
        },
        args,
        _model_of(args),
    )


def train_meaning(args: argparse.Namespace) -> None:
    """Fit what reads cosines on one half of the titles, on the scale of the shipped weights of words."""
    embedder, half = training_embedder(args.embedder, args.models), args.half or 0
    words = {script: np.asarray(values) for script, values in shipped_words()["weights"].items()}
    sets = [data for data in read_answer_sets(args) if script_of_set(data) in scripts_read(embedder)]
    tokenizer = JiebaTokenizer(glossary=CedictGlossary(args.models))
    across = [answer_set(d, tokenizer=tokenizer, counter=counter(), embedder=embedder) for d in args.across]
    groups = [refusal_training.groups_of(data, half=half, limit=args.limit, embedder=embedder) for data in sets]
    record: dict[str, Any] = {
        "signs": list(GATE_FEATURES),
        "weights": {script: _rounded(values) for script, values in meaning_fit(groups, words).items()},
        "across": {},
    }
    if across:
        weights, questions = across_fit(across, groups, words, embedder=embedder, half=half, limit=args.limit)
        by_language = {language: _rounded(values) for language, values in weights.items()}
        record["across"] = {"signs": list(ACROSS), "weights": by_language, "questions": questions}
    target = weights_file(ragcore.answerability.model, embedder.model, name=MEANING_FILE)
    _write_to(args.out or target, record, {"questions": sum(len(group.answered.matrix) for group in groups)}, args)


def shipped_words() -> dict[str, Any]:
    """The record of the answerability by words."""
    record: dict[str, Any] = json.loads(weights_file(ragcore.answerability.model).read_text(encoding="utf-8"))
    return record


def _model_of(args: argparse.Namespace) -> str:
    embedder = given_embedder(args)
    return "" if embedder is None else embedder.model


def _rounded(weights: Any) -> list[float]:
    return [round(float(weight), DIGITS) for weight in weights]


def weights_file(module: Any, model: str = "", *, name: str = "") -> Path:
    """Where a module's weights are; `model`: those for an embedding model; `name`: of another file of the module."""
    name = name or module.WEIGHTS_FILE
    return Path(module.__file__).with_name(file_of(name, model) if model else name)


def _write(
    module: Any, record: Mapping[str, Any], figures: Mapping[str, Any], args: argparse.Namespace, model: str = ""
) -> None:
    _write_to(args.out or weights_file(module, model), record, figures, args)


def _write_to(target: Path, record: Mapping[str, Any], figures: Mapping[str, Any], args: argparse.Namespace) -> None:
    names = map(folder_name, args.folders)
    how = " --no-embedder" if args.no_embedder else f" --embedder {args.embedder}"
    how += "" if args.half is None else f" --half {args.half}"
    how += f" --across {' '.join(map(folder_name, args.across))}" if args.across else ""
    how += f" --within {' '.join(args.within)}" if args.within else ""
    trained = {
        "at": datetime.now(tz=UTC).date().isoformat(),
        "command": f"python -m ragcore.training {args.command} {' '.join(names)} --limit {args.limit}{how}",
        **figures,
    }
    target.write_text(json.dumps({**record, "trained": trained}, indent=1) + "\n", encoding="utf-8")
    print(f"{target}: {json.dumps(trained)}")


def train_support(args: argparse.Namespace) -> None:
    """Fit the weights, tell how well they do on documents that they were not fitted to, and write the file."""
    sentences = examples(args.folders, limit=args.limit)
    data = table(sentences, tokenizer=JiebaTokenizer(), embedder=None)
    scores = cross_validated(data, lambda part, test: probabilities(fitted(part), test))
    figure = score_method("words alone", data.supported, scores >= 0.5, scores)
    print(f"{len(sentences)} sentences; five folds by article\n\n{HEAD}\n{figure.row()}")
    model = fitted(data)
    print("\n| kind | sentences | right |\n|---|---|---|", *by_kind(data, scores), sep="\n")
    for name, value in zip(("constant", *SUPPORT_FEATURES), model.words, strict=False):
        print(f"{name:20} {value:+.3f}")
    record = {
        "features": list(SUPPORT_FEATURES),
        "words": [round(float(w), DIGITS) for w in model.words],
        "training": {
            "sources": "CMRC 2018 (CC BY-SA 4.0), DRCD (CC BY-SA 3.0), SQuAD 2.0 and XQuAD (CC BY-SA 4.0), CLAP NQ "
            "(Apache-2.0; passages CC BY-SA 3.0); sentences edited by ragcore/training/support_edits.py "
            "and ragcore/training/support_summaries.py",
            "date": datetime.now(tz=UTC).date().isoformat(),
            "command": f"python -m ragcore.training support {' '.join(f.resolve().parent.name for f in args.folders)} "
            f"--limit {args.limit}",
            "sentences": len(sentences),
            "unsupported": int((~data.supported).sum()),
            "balanced_accuracy_five_folds_by_article": round(figure.balanced_accuracy, 4),
            "auc_five_folds_by_article": round(figure.auc, 4),
            "overlap_threshold": round(best_threshold(data.supported, data.overlap), 4),
        },
    }
    if args.out:
        args.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def train_support_meaning(args: argparse.Namespace) -> None:
    """Fit what reads cosines to some of the sentences, beside the shipped weights of words."""
    embedder, words = training_embedder(args.embedder, args.models), SupportModel.shipped().words
    sentences = examples(args.folders, limit=args.limit)
    some = table(sentences[:: -(-len(sentences) // WITH_VECTORS)], tokenizer=JiebaTokenizer(), embedder=embedder)
    weights = support_meaning_training.meaning_fit(some, words=words, embedder=embedder)
    figures: dict[str, Any] = {"sentences": len(some.supported)}
    for name, model in (
        ("words", SupportModel(words=words, meaning=())),
        ("both", SupportModel(words=words, meaning=weights)),
    ):
        scores = probabilities(model, some)
        row = score_method(name, some.supported, scores >= 0.5, scores)
        figures |= {f"balanced_accuracy_{name}": round(row.balanced_accuracy, 4), f"auc_{name}": round(row.auc, 4)}
    across: tuple[float, ...] = ()
    if args.across:
        fitting, testing = (
            support_meaning_training.across_table(args.across, tokenizer=JiebaTokenizer(), embedder=embedder, half=half)
            for half in (0, 1)
        )
        across = support_meaning_training.across_fit(fitting)
        figures["across_other_half"] = round(support_meaning_training.balanced_accuracy(testing, across), 4)
    target = weights_file(ragcore.grounding.support_model, embedder.model, name=SUPPORT_MEANING_FILE)
    record = {"features": list(MEANING), "weights": _rounded(weights), "across": _rounded(across)}
    _write_to(args.out or target, record, figures, args)


def train_rotation(args: argparse.Namespace) -> None:
    """Fit the rotation of the packaged embedder's coarse vectors on texts of installed packages, and write the file."""
    groups = fitting_texts(most=args.limit)
    for group in groups:
        print(f"{group.name}: {len(group.texts)} texts, weight {group.weight}")
    rotation = rotation_fitted(groups, training_embedder(args.embedder, args.models))
    if args.out:
        np.savez(args.out, projection=np.frombuffer(projection_pack(rotation), "<f2").reshape(-1, PREFIX))


def train_centres(args: argparse.Namespace) -> None:
    """Fit the centres of the multilingual model's vectors on messages and their translations, and write the file."""
    centres = centres_fitted(E5Small(args.models))
    apart = np.linalg.norm(centres[:, 0] - centres[:, 1], axis=-1)
    print(f"distance of the languages: questions {apart[0]:.3f}, passages {apart[1]:.3f}")
    if args.out:
        np.save(args.out, centres)


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "sentences": train_sentences,
    "sentence-meaning": train_sentence_meaning,
    "sentence-reading": lambda args: train_sentence_reading(
        args, read_answer_sets(args), weights_file(ragcore.extractive.sentence_meaning, _model_of(args))
    ),
    "relevance": train_relevance,
    "refusals": train_refusals,
    "meaning": train_meaning,
    "support": train_support,
    "support-meaning": train_support_meaning,
    "reranker": train_reranker,
    "pairs": lambda args: train_pairs(args, read_answer_sets(args)),
    "rotation": train_rotation,
    "centres": train_centres,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of COMMANDS."""
    parser = argparse.ArgumentParser(
        prog="python -m ragcore.training", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, default=300, help="questions, passages or texts of each set")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only questions about this half of the titles")
    embedder_arguments(parser)
    parser.add_argument("--within", nargs="*", default=[], help="reranker: sets of which only one title competes")
    parser.add_argument("--across", nargs="*", type=Path, default=[], help="meaning: sets across languages")
    parser.add_argument("--tables", nargs="*", type=Path, default=[], help="pairs: folders with tables as CSV")
    parser.add_argument("--epochs", type=float, default=3.0, help="pairs: how often every question is read")
    parser.add_argument("--out", type=Path, help="where to write weights")
    args = parser.parse_args(arguments)
    if not args.folders and args.command not in WITHOUT_FOLDERS:
        parser.error("which folders?")
    for folder in args.folders if args.command not in WITH_CHOSEN else ():
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")
    if args.command.startswith("support"):
        np.seterr(all="raise", under="ignore")
    COMMANDS[args.command](args)


if __name__ == "__main__":
    main()
