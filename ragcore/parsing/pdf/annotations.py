"""What people typed over the pages of a PDF: free text, values of form fields, ticked boxes, notes.

None of it is part of the page's own text. Free text and fields stand where everybody sees them; notes, which open at a
click, follow the text of the page.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

from ragcore.parsing.pdf.layout import Run

MAX_ANNOTATIONS = 2_000  # of a page
MAX_CHARACTERS = 20_000  # of one
MAX_SIZE = 12.0  # points of typed text
LINE_SHARE = 0.8  # of the height of a line that the text takes
LABEL_POINTS = 200.0  # between a label and the field on its right
BOX_POINTS = 20.0  # between a box and the label on its right
LABEL_GAP = 0.3  # font sizes: a space
NOTE_STEP = 3.0  # points between notes, which have no place in the text
_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_NOTES = (
    pdfium.FPDF_ANNOT_TEXT,
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_STRIKEOUT,
    pdfium.FPDF_ANNOT_SQUIGGLY,
)
_BOXES = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_TEXTS = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)

Place = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Typed:
    """Texts over a page; `places`: left, top, right, bottom in the coordinates of the file, of those with a place."""

    texts: list[str] = field(default_factory=list)
    are_fields: list[bool] = field(default_factory=list)  # of a form, of each text
    places: list[Place] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def boxes(self) -> array[float]:
        return array("f", [side for place in self.places for side in place])

    def runs(
        self,
        upright: Sequence[Place],
        around: Sequence[Run],
        *,
        height: float,
        is_parted: Callable[[float, float, float], bool],
    ) -> Iterator[Run]:
        """A run for each line. `upright`: the places from the top left corner of the page, which is so high.

        `around`: the text of the page. A field stands directly beside its label, unless a line parts them (from where
        to where, and the height of the middle), and typed text is of the usual size of the page, as it is no heading.
        """
        body = median(run.size for run in around) if around else 0.0
        for text, is_field, place in zip(self.texts, self.are_fields, upright, strict=True):
            x0, y0, x1, y1 = _beside_label(text, place, around, is_parted) if is_field else place
            lines = text.split("\n")
            step = (y1 - y0) / len(lines)
            size = max(min(LINE_SHARE * step, body or MAX_SIZE), 1.0)
            for at, line in enumerate(lines):
                if line:
                    middle = y0 + (at + 0.5) * step
                    width = min(x1 - x0, size * len(line))
                    yield Run(line, x0, middle - size / 2, max(x0 + width, x0 + 1.0), middle + size / 2, size)
        for at, note in enumerate(reversed(self.notes)):
            bottom = height - at * NOTE_STEP
            yield Run(note, 0.0, bottom - 1.0, 1.0, bottom, 1.0)


def _beside_label(
    text: str, place: Place, around: Sequence[Run], is_parted: Callable[[float, float, float], bool]
) -> Place:
    """The place of a field moved to its label: that of a box may stand on its right, any other on its left."""
    x0, y0, x1, y1 = place
    middle = (y0 + y1) / 2
    row = [run for run in around if run.y0 <= middle <= run.y1]
    left = max((run for run in row if run.x1 <= x0 + 2), key=lambda run: run.x1, default=None)
    right = min((run for run in row if run.x0 >= x1 - 2), key=lambda run: run.x0, default=None)
    gap = LABEL_GAP * (left.size if left else right.size if right else 0.0)
    if right and text in "☒☐" and right.x0 - x1 <= BOX_POINTS:
        return right.x0 - gap - 1.0, y0, right.x0 - gap, y1
    if left and x0 - left.x1 <= LABEL_POINTS and not is_parted(left.x1, x0, middle):
        return left.x1 + gap, y0, max(left.x1 + gap + 1.0, x1 - x0 + left.x1), y1
    return place


def read_annotations(page: Any) -> Typed:
    """What is typed over a pypdfium2 page and not hidden; values of fields need the forms of the document open."""
    typed = Typed()
    form = page.formenv.raw if page.formenv is not None else None
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page.raw), MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            _read(annotation, form, typed)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    return typed


def _read(annotation: Any, form: Any, typed: Typed) -> None:
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
        return
    if kind in _NOTES:
        if note := " ".join(_entry(annotation, b"Contents").split()):
            typed.notes.append(note)
        return
    text = ""
    if kind == pdfium.FPDF_ANNOT_FREETEXT:
        text = _entry(annotation, b"Contents")
    elif kind == pdfium.FPDF_ANNOT_WIDGET and form is not None:
        text = _field_value(annotation, form)
    rectangle = pdfium.FS_RECTF()
    if text.strip() and pdfium.FPDFAnnot_GetRect(annotation, rectangle):
        lines = (" ".join(line.split()) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
        typed.are_fields.append(kind == pdfium.FPDF_ANNOT_WIDGET)
        typed.texts.append("\n".join(lines).strip("\n"))
        left, right = sorted((rectangle.left, rectangle.right))
        bottom, top = sorted((rectangle.bottom, rectangle.top))
        typed.places.append((left, top, right, bottom))


def _field_value(annotation: Any, form: Any) -> str:
    """The text or choice of a form field, or whether its box is ticked; "" for buttons and signatures."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _BOXES:
        return "☒" if pdfium.FPDFAnnot_IsChecked(form, annotation) else "☐"
    if kind not in _TEXTS:
        return ""
    return _string(lambda buffer, size: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))


def _entry(annotation: Any, key: bytes) -> str:
    return _string(lambda buffer, size: pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _string(read: Callable[[Any, int], int]) -> str:
    """A string of pdfium: its length in bytes is asked for first."""
    size = min(int(read(None, 0)), 2 * MAX_CHARACTERS + 2)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[:size].decode("utf-16-le", errors="replace").rstrip("\x00")
