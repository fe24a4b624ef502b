"""What stands around a chosen sentence, as Markdown: its list, what is said elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragcore.extractive.choice import SentenceChoice, is_of_use
from ragcore.extractive.formatting import Wording, cite, listing, supplement
from ragcore.extractive.sections import find_list_around
from ragcore.extractive.sentences import Statement

MOST_BESIDE_ROW = 2  # groups of sentences behind a row that answers exactly
MOST_OF_OTHER_CATEGORIES = 2  # further points, where documents have categories
HELD = 0.85  # probability of the best sentence within an explanation from which nothing is added to it
BESIDE = 0.05  # probability from which a sentence is added
MOST_BESIDE = 3


def whole_list_blocks(
    choice: SentenceChoice, statements: Sequence[Statement], words: Wording, *, numbered: bool
) -> list[str]:
    """The list that the best sentence is a point of, with the sentence that announces it; [] where it is none."""
    around = find_list_around(choice.best, statements)
    if around is None:
        return []
    lead = [f"{cite(around.intro, around.number, words)}\n\n"] if around.intro else []
    items = [(text, around.number) for text in around.items]
    return [*lead, listing(items, words, numbered=numbered), *supplement_blocks(choice, words)]


def supplement_blocks(choice: SentenceChoice, words: Wording) -> list[str]:
    """What is said elsewhere, each row of a table by itself."""
    groups = further_points(choice)
    points = [part for group in groups for part in ([(s,) for s in group] if group[0].head else [group])]
    block = supplement(points, words)
    return [block] if block else []


def further_points(choice: SentenceChoice) -> Sequence[tuple[Statement, ...]]:
    """The points besides the core, the likeliest first; at most two of documents of other categories than the core's.

    All of them where the documents have no categories, or none has another one.
    """
    core = frozenset(choice.best.source.passage.categories)
    if not core:
        return choice.points
    other = [point for point in choice.points if core.isdisjoint(point[0].source.passage.categories or core)]
    return other[:MOST_OF_OTHER_CATEGORIES] or choice.points


def beside_row_blocks(choice: SentenceChoice, words: Wording) -> list[str]:
    """The likeliest sentences, where a row of a table answers already."""
    groups = [group for group in (choice.core, *choice.points) if not group[0].is_row]
    block = supplement(groups[:MOST_BESIDE_ROW], words)
    return [block] if block else []


def beside_runs(
    question: str, runs: Sequence[Statement], statements: Sequence[Statement], chances: Mapping[int, float]
) -> list[Statement]:
    """The likeliest sentences that an explanation lacks. `chances`: id of each sentence -> that it is the best one."""
    missing: list[Statement] = []
    coverage = sum(chances[id(s)] for s in runs)
    for statement in sorted(statements, key=lambda s: -chances[id(s)]):
        if coverage >= HELD or len(missing) == MOST_BESIDE or chances[id(statement)] < BESIDE:
            break
        if statement not in runs and is_of_use(statement, question):
            missing.append(statement)
            coverage += chances[id(statement)]
    return missing
