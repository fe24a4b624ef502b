"""Small forms of the chat page."""

from __future__ import annotations

from django import forms


class RenameForm(forms.Form):
    """A conversation's new title."""

    title = forms.CharField(max_length=200)


class PinForm(forms.Form):
    """Whether a conversation stays on top."""

    pinned = forms.BooleanField(required=False)


class SetsForm(forms.Form):
    """Where a conversation asks; nothing chosen: everywhere."""

    sets = forms.TypedMultipleChoiceField(coerce=int, required=False)

    def __init__(self, *args: object, listed: list[int], **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.fields["sets"].choices = [(number, number) for number in listed]  # type: ignore[attr-defined]
