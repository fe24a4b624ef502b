"""People from a directory or a list: the address and keys of SCIM, and a file of people."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_user, is_administrator
from accounts.admin.file_field import FileDropInput
from accounts.admin.pages import admin_page, page_response
from accounts.key_scopes import KeyScope
from accounts.models import ApiKey, User
from accounts.people.records import PersonRecord, RecordError, records_from_csv, records_from_scim
from accounts.people.services import ImportResult, PersonChange, people_import

MAX_RECORDS = 500  # of one file here; longer lists are for the command
MAX_BYTES = 2 * 1024 * 1024
MAX_ROWS = 200  # of the tables
NO_FIELDS = {"groups": _("user groups"), "active": _("active"), "owns": _("Owner of"), "reads": _("Member of")}


class PeopleFileForm(forms.Form):
    """A file, and whether whoever is not in it leaves."""

    file = forms.FileField(label=_("File"), widget=FileDropInput({"accept": ".csv,.json,text/csv,application/json"}))
    preview = forms.BooleanField(label=_("Only show what would change"), required=False, initial=True)
    deactivate = forms.BooleanField(
        label=_("Deactivate people who are not in the file"),
        required=False,
        help_text=_("Staff are never deactivated by a file, and nobody is where a record has a fault."),
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(_("The file is too large for this page. Use manage.py people_import."))
        return file


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """What a file does to one person, in words."""

    username: str
    is_new: bool
    changes: Sequence[str]


@admin_page("directory/", of=User, name="accounts_user_directory", allowed=is_administrator)
def directory_view(request: HttpRequest) -> HttpResponse:
    """GET: how a directory or a file brings people; POST: what a file would change, or changes."""
    actor = admin_user(request)
    form = PeopleFileForm(request.POST or None, request.FILES or None)
    page: dict[str, Any] = {
        "title": _("People from a directory or a list"),
        "form": form,
        "address": request.build_absolute_uri("/scim/v2"),
        "keys": ApiKey.objects.filter(
            user__tenant=actor.tenant_id, scopes__contains=[KeyScope.DIRECTORY], revoked=None
        ).select_related("user"),
    }
    if request.method == "POST" and form.is_valid():
        is_import = not form.cleaned_data["preview"]
        try:
            records = _records(form.cleaned_data["file"])
        except RecordError as error:
            form.add_error("file", str(error))
        else:
            result = people_import(
                records,
                tenant=actor.tenant,
                actor=actor,
                dry_run=not is_import,
                deactivate=form.cleaned_data["deactivate"],
            )
            page |= _result_shown(result, is_import=is_import)
            if is_import:
                messages.success(request, page["summary"])
    return page_response(request, "admin/accounts/user/directory.html", page)


def _records(file: UploadedFile) -> list[PersonRecord | RecordError]:
    """The records of a file. Raises RecordError for one that cannot be read as a whole."""
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecordError(gettext("Save the file as UTF-8 (in Excel: CSV UTF-8).")) from None
    is_json = str(file.name).lower().endswith(".json")
    listed: Iterator[PersonRecord | RecordError] = (
        records_from_scim(text) if is_json else records_from_csv(io.StringIO(text, newline=""))
    )
    records = list(islice(listed, MAX_RECORDS + 1))
    if len(records) > MAX_RECORDS:
        words = gettext("The file has more than %(count)s people. Use manage.py people_import.")
        raise RecordError(words % {"count": MAX_RECORDS})
    return records


def _result_shown(result: ImportResult, *, is_import: bool) -> dict[str, Any]:
    count = len(result.changes)
    sentence = (
        ngettext("%(count)d person is changed or new.", "%(count)d people are changed or new.", count)
        if is_import
        else ngettext("%(count)d person would be changed or new.", "%(count)d people would be changed or new.", count)
    )
    return {
        "summary": sentence % {"count": count},
        "result": result,
        "is_import": is_import,
        "rows": [_row(change) for change in result.changes[:MAX_ROWS]],
        "faults": result.faults[:MAX_ROWS],
    }


def _row(change: PersonChange) -> ChangeRow:
    words = [f"{_label(name)}: {_value(before)} → {_value(after)}" for name, (before, after) in change.changes.items()]
    return ChangeRow(username=change.username, is_new=change.is_new, changes=words)


def _label(name: str) -> str:
    if name in NO_FIELDS:
        return capfirst(str(NO_FIELDS[name]))
    fields = {field.name: field for field in User._meta.get_fields()}
    return capfirst(str(getattr(fields.get(name), "verbose_name", name)))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "–"
    return str(value) if value not in (None, "") else "–"
