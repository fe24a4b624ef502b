"""Where words stand on a page of a PDF as it is shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ragcore.parsing.pdf.characters import character_places

LEAST_CHARACTERS = 8  # of a half that is looked for where the whole is not on the page
SAME_LINE = 0.5  # share of a character's height by which its middle may lie off the line

Place = tuple[float, float, float, float]  # x0, y0, x1, y1 in points from the top left

# By whether the text runs down the page or across, and against the coordinates or with them. Each undoes itself.
_TURNS: Mapping[tuple[bool, bool], Callable[[Place], Place]] = {
    (False, False): lambda place: place,
    (False, True): lambda place: (-place[2], place[1], -place[0], place[3]),
    (True, False): lambda place: (place[1], place[0], place[3], place[2]),
    (True, True): lambda place: (-place[3], -place[2], -place[1], -place[0]),
}


def find_word_places(page: Any, texts: Iterable[str]) -> list[Place]:
    """Rectangles line by line around the texts on a pypdfium2 page; none for what does not stand there.

    Letters and digits alone are compared: spaces, marks, hyphens and the breaks of lines differ between a page and the
    text that was read from it. Of a text that goes over two pages the half that stands here is found.
    """
    chars, places = character_places(page)
    letters, index = [], []
    for at, char in enumerate(chars):
        for letter in _letters(char):
            letters.append(letter)
            index.append(at)
    whole = "".join(letters)
    text_places = [place for text in texts for place in _lines([places[at] for at in _range(whole, index, text)])]
    return list(dict.fromkeys(text_places))


def _letters(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def _range(whole: str, index: Sequence[int], text: str) -> range:
    """Indices of the characters in which the text stands."""
    letters = _letters(text)
    middle = len(letters) // 2
    for part in (letters, letters[:middle], letters[middle:]):
        if len(part) < min(LEAST_CHARACTERS, len(letters)) or not part:
            continue
        start = whole.find(part)
        if start >= 0:
            return range(index[start], index[start + len(part) - 1] + 1)
    return range(0)


def _lines(places: Sequence[Place]) -> Iterator[Place]:
    """One rectangle for each line that the characters make, whatever way the text runs."""
    drawn = [place for place in places if place[2] > place[0] and place[3] > place[1]]
    along = [sum(b[side] - a[side] for a, b in pairwise(drawn) if _is_step(a, b)) for side in (0, 1)]
    turn = _TURNS[abs(along[1]) > abs(along[0]), along[abs(along[1]) > abs(along[0])] < 0]
    line: Place | None = None
    for place in map(turn, drawn):
        if line is not None and _is_beside(line, place):
            line = min(line[0], place[0]), min(line[1], place[1]), max(line[2], place[2]), max(line[3], place[3])
            continue
        if line is not None:
            yield turn(line)
        line = place
    if line is not None:
        yield turn(line)


def _is_step(before: Place, after: Place) -> bool:
    """Whether one character may follow the other on one line: the way back to the next line says nothing."""
    size = max(before[2] - before[0], before[3] - before[1])
    return abs(after[0] - before[0]) < 3 * size and abs(after[1] - before[1]) < 3 * size


def _is_beside(line: Place, place: Place) -> bool:
    middle, height = (place[1] + place[3]) / 2, place[3] - place[1]
    on_line = line[1] - SAME_LINE * height < middle < line[3] + SAME_LINE * height
    return on_line and place[0] >= line[2] - height
