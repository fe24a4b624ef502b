"""Training of the shipped models, on public sets; without a database.

    python -m ragcore.training sentences DIR …    ragcore/extractive/extractive_weights.json
    python -m ragcore.training relevance DIR …    ragcore/extractive/relevance_weights.json
    python -m ragcore.training refusals DIR …     ragcore/answerability/weights.json
    python -m ragcore.training support DIR …      ragcore/grounding/support_model.json, with --out
    python -m ragcore.training rotation           ragcore/embedding/embedded_rotation_1.npz, with --out; reads no set
    python -m ragcore.training centres            ragcore/embedding/e5_centres_1.npy, with --out; reads no set

DIR holds corpus.jsonl, queries.jsonl with answers, qrels.tsv, and for refusals perhaps unanswerable.jsonl; for
relevance answerable.jsonl and unanswerable.jsonl with chosen sentences. Sentences and refusals train on one half of the
titles (--half 0). The reranker is trained by `manage.py train_reranker`, because its candidates come from the product's
own index.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import ragcore.answerability.model
import ragcore.extractive.relevance
import ragcore.extractive.sentence_model
from ragcore.answerability.features import FEATURES as GATE_FEATURES
from ragcore.answerability.model import Script, design, script_of
from ragcore.embedding.e5 import E5Small
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.embedding.rotation import PREFIX, projection_pack
from ragcore.extractive.relevance import feature_names
from ragcore.extractive.sentence_model import FEATURES as SENTENCE_FEATURES
from ragcore.grounding.support_model import FEATURES as SUPPORT_FEATURES
from ragcore.grounding.support_model import MEANING
from ragcore.ports import Embedder, FloatArray
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training import refusal_training, relevance_training, sentence_training
from ragcore.training.answer_sets import AnswerSet, answer_set
from ragcore.training.centre_training import centres_fitted
from ragcore.training.refusal_training import visible_thresholds
from ragcore.training.relevance_training import explained_questions
from ragcore.training.rotation_training import fitting_texts, rotation_fitted
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
EMBEDDER_READS: tuple[Script, ...] = ("en",)  # scripts that the product's embedder reads


def read_answer_sets(given: argparse.Namespace) -> list[AnswerSet]:
    """The folders, ranked with the embedder that comes with the product."""
    tokenizer = JiebaTokenizer()
    embedder: Embedder | None = None if given.no_embedder else EmbeddedEmbedder(given.models)
    return [answer_set(d, tokenizer=tokenizer, counter=counter(), embedder=embedder) for d in given.folders]


def train_sentences(given: argparse.Namespace) -> None:
    """Fit on one half of the titles and write the weights with their record."""
    lists = [
        one
        for data in read_answer_sets(given)
        for one in sentence_training.sentence_lists(data, half=given.half or 0, limit=given.limit)
    ]
    weights = sentence_training.sentences_fit(lists)
    groups = dict.fromkeys(one.group for one in lists)
    first = {
        g: round(sentence_training.first_right([one for one in lists if one.group == g], weights), 4) for g in groups
    }
    _write(
        ragcore.extractive.sentence_model,
        {"features": list(SENTENCE_FEATURES), "weights": _rounded(weights)},
        {"questions": len(lists), "right_sentence_first": first},
        given,
    )


def train_relevance(given: argparse.Namespace) -> None:
    """Fit on all articles, tell how well weights of other articles do, and write the weights."""
    reader = _embedder(given)
    asked = [
        one
        for folder in given.folders
        for one in explained_questions(folder, tokenizer=JiebaTokenizer(), counter=counter(), embedder=reader)
    ]
    figures = np.array(relevance_training.cross_validated(asked))
    _write(
        ragcore.extractive.relevance,
        {"features": list(feature_names()), "weights": _rounded(relevance_training.relevance_fit(asked))},
        {
            "sources": "CLAP NQ (Apache-2.0; passages CC BY-SA 3.0)",
            "questions": len(asked),
            "f1_five_folds_by_article": round(float(figures[:, 0].mean()), 4),
            "mean_characters": round(float(figures[:, 1].mean())),
        },
        given,
    )


def train_refusals(given: argparse.Namespace) -> None:
    """Fit on one half of the titles, draw the thresholds on the other one, and write both."""
    loaded, half = read_answer_sets(given), given.half or 0
    groups = []
    for data in loaded:
        reader = cosine_embedder(given, script_of(data.answerable[0].text))
        groups.append(refusal_training.groups_of(data, half=half, limit=given.limit, embedder=reader))
    weights = refusal_training.scripts_fit(groups)
    thresholds = visible_thresholds(loaded, weights, half=1 - half, limit=given.limit)
    _write(
        ragcore.answerability.model,
        {
            "signs": list(GATE_FEATURES),
            "weights": {script: _rounded(values) for script, values in weights.items()},
            "meaning": {"embedder": EmbeddedEmbedder.model, "weights": _with_meaning(given, groups, weights)},
            "rates": list(refusal_training.RATES),
            "thresholds": thresholds,
        },
        {
            "answerable": sum(len(one.answered.matrix) for one in groups),
            "unanswerable": sum(len(lost.matrix) for one in groups for lost in one.lost.values()),
        },
        given,
    )


def _with_meaning(
    given: argparse.Namespace, groups: Sequence[refusal_training.Groups], weights: Mapping[Script, FloatArray]
) -> dict[str, list[float]]:
    """Weights with the cosine, of the scripts that the embedder reads; on the scale of those without it."""
    made: dict[str, list[float]] = {}
    for script in EMBEDDER_READS if given.meaning else ():
        mine = [one for one in groups if one.script == script]
        if mine:
            fitted = refusal_training.scripts_fit(mine, meaning=True)[script]
            rows = np.vstack([design(one.answered.matrix) for one in mine])
            made[script] = _rounded(refusal_training.aligned(fitted, rows @ fitted, rows @ weights[script]))
    return made


def _rounded(weights: Any) -> list[float]:
    return [round(float(weight), DIGITS) for weight in weights]


def weights_file(module: Any) -> Path:
    return Path(module.__file__).with_name(module.WEIGHTS_FILE)


def _write(module: Any, record: Mapping[str, Any], figures: Mapping[str, Any], given: argparse.Namespace) -> None:
    names = [folder.parent.name if folder.name == "dev" else folder.name for folder in given.folders]
    words_alone = " --no-embedder" * given.no_embedder + " --meaning" * given.meaning
    trained = {
        "at": datetime.now(tz=UTC).date().isoformat(),
        "command": f"python -m ragcore.training {given.command} {' '.join(names)} --limit {given.limit}{words_alone}",
        **figures,
    }
    target = given.out or weights_file(module)
    target.write_text(json.dumps({**record, "trained": trained}, indent=1) + "\n", encoding="utf-8")
    print(f"{target}: {json.dumps(trained)}")


def train_support(given: argparse.Namespace) -> None:
    """Fit the weights, tell how well they do on documents that they were not fitted to, and write the file."""
    found = examples(given.folders, limit=given.limit)
    data = table(found, tokenizer=JiebaTokenizer(), embedder=None)
    scores = cross_validated(data, lambda part, test: probabilities(fitted(part), test))
    figure = score_method("words alone", data.supported, scores >= 0.5, scores)
    print(f"{len(found)} sentences; five folds by article\n\n{HEAD}\n{figure.row()}")
    model = fitted(data)
    if not given.no_embedder:
        small = table(found[:: -(-len(found) // WITH_VECTORS)], tokenizer=JiebaTokenizer(), embedder=_embedder(given))
        both = cross_validated(small, lambda part, test: probabilities(fitted(part), test))
        print(score_method(f"words and vectors, {len(both)} of them", small.supported, both >= 0.5, both).row())
        model = fitted(small, words=model.words)
    print("\n| kind | sentences | right |\n|---|---|---|", *by_kind(data, scores), sep="\n")
    for name, value in zip(("constant", *SUPPORT_FEATURES), model.words, strict=False):
        print(f"{name:20} {value:+.3f}")
    print(
        "with vectors:",
        *(f"{name} {value:+.3f}" for name, value in zip(("constant", *MEANING), model.meaning, strict=False)),
    )
    record = {
        "features": list(SUPPORT_FEATURES),
        "meaning_features": list(MEANING),
        "words": [round(float(w), DIGITS) for w in model.words],
        "meaning": [round(float(w), DIGITS) for w in model.meaning],
        "training": {
            "sources": "CMRC 2018 (CC BY-SA 4.0), DRCD (CC BY-SA 3.0), SQuAD 2.0 and XQuAD (CC BY-SA 4.0), CLAP NQ "
            "(Apache-2.0; passages CC BY-SA 3.0); sentences edited by ragcore/training/support_edits.py "
            "and ragcore/training/support_summaries.py",
            "date": datetime.now(tz=UTC).date().isoformat(),
            "command": f"python -m ragcore.training support {' '.join(f.resolve().parent.name for f in given.folders)} "
            f"--limit {given.limit}",
            "sentences": len(found),
            "sentences_with_vectors": 0 if given.no_embedder else len(found[:: -(-len(found) // WITH_VECTORS)]),
            "unsupported": int((~data.supported).sum()),
            "balanced_accuracy_five_folds_by_article": round(figure.balanced_accuracy, 4),
            "auc_five_folds_by_article": round(figure.auc, 4),
            "overlap_threshold": round(best_threshold(data.supported, data.overlap), 4),
        },
    }
    if given.out:
        given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _embedder(given: argparse.Namespace) -> Embedder | None:
    return None if given.no_embedder else EmbeddedEmbedder(given.models)


def cosine_embedder(given: argparse.Namespace, script: Script) -> Embedder | None:
    """The embedder where `--meaning` wants the cosine and the script is one that it reads."""
    return EmbeddedEmbedder(given.models) if given.meaning and script in EMBEDDER_READS else None


def train_rotation(given: argparse.Namespace) -> None:
    """Fit the rotation of the packaged embedder's coarse vectors on texts of installed packages, and write the file."""
    groups = fitting_texts(most=given.limit)
    for group in groups:
        print(f"{group.name}: {len(group.texts)} texts, weight {group.weight}")
    rotation = rotation_fitted(groups, EmbeddedEmbedder(given.models))
    if given.out:
        np.savez(given.out, projection=np.frombuffer(projection_pack(rotation), "<f2").reshape(-1, PREFIX))


def train_centres(given: argparse.Namespace) -> None:
    """Fit the centres of the multilingual model's vectors on messages and their translations, and write the file."""
    centres = centres_fitted(E5Small(given.models))
    apart = np.linalg.norm(centres[:, 0] - centres[:, 1], axis=-1)
    print(f"distance of the languages: questions {apart[0]:.3f}, passages {apart[1]:.3f}")
    if given.out:
        np.save(given.out, centres)


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "sentences": train_sentences,
    "relevance": train_relevance,
    "refusals": train_refusals,
    "support": train_support,
    "rotation": train_rotation,
    "centres": train_centres,
}
WITHOUT_FOLDERS = frozenset({"rotation", "centres"})
WITH_CHOSEN = frozenset({"support", "relevance"})  # that read folders of another form


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of COMMANDS."""
    parser = argparse.ArgumentParser(
        prog="python -m ragcore.training", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--limit", type=int, default=300, help="questions, passages or texts of each set")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only questions about this half of the titles")
    parser.add_argument("--no-embedder", action="store_true", help="words alone")
    parser.add_argument("--meaning", action="store_true", help="refusals: the cosine of question and sentence, too")
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("DATA_DIR", "var")) / "models")
    parser.add_argument("--out", type=Path, help="where to write weights")
    given = parser.parse_args(arguments)
    if not given.folders and given.command not in WITHOUT_FOLDERS:
        parser.error("which folders?")
    for folder in given.folders if given.command not in WITH_CHOSEN else ():
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")
    if given.command == "support":
        np.seterr(all="raise", under="ignore")
    COMMANDS[given.command](given)


if __name__ == "__main__":
    main()
