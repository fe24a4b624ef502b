"""Sources as typed forms: options are fields, not JSON; credentials go in and are never shown."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from django import forms
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from accounts.error_messages import error_message
from accounts.models import ClearanceLevel
from accounts.roles import administers
from accounts.scope import Scope
from knowledge.admin.set_choice import SetChoiceInput, set_choice_rows
from knowledge.admin.source_kind_choice import KindSelect, kind_choices
from knowledge.admin.source_locations import locations_help
from knowledge.connectors import SettingField, connector_kinds
from knowledge.models import Source, SourcePlace
from knowledge.models.sources import source_kinds
from knowledge.rights import PLACES_MANAGE
from knowledge.selectors import sets_managed
from knowledge.services.places import places_usable
from knowledge.services.sources import source_check
from knowledge.services.sources.sync_runs import LISTED_KINDS
from knowledge.types import SourceOptions, strictly
from ragcore.errors import RagError

LINES = ("include", "exclude", "tags")  # options with one value a line
OPTIONS = (
    *LINES,
    "metadata",
    "max_documents",
    "clearance",
    "clearance_floor",
    "levels",
    "delete_missing",
    "delete_at_most_percent",
    "requests_per_minute",
    "hours",
    "people",
    "shared",
    "allow_private",
)
PLACE_CODES = ("folder_not_allowed", "url_not_allowed")
FIELD_OF_CODE = {
    "folder_not_allowed": "location",
    "url_not_allowed": "location",
    "clearance_too_high": "clearance",
    "not_allowed": "allow_private",
    "name_taken": "name",
    "connector_failed": "location",
    "rest_description": "rest_description",
}
FIELD_OF_REASON = {  # of `invalid_source`
    "location_missing": "location",
    "no_location": "location",
    "address_length": "location",
    "no_schedule": "schedule",
    "owner_missing": "owner",
    "handler": "handler",
    "no_credentials": "secret",
    "credentials": "secret",
    "credential_length": "secret",
    "secret_length": "secret",
}


class LinesField(forms.CharField):
    """One value a line."""

    widget = UnfoldAdminTextareaWidget({"rows": 3})

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, **options})

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in (super().to_python(value) or "").splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value


class PairsField(LinesField):
    """One `name = value` a line."""

    def to_python(self, value: Any) -> Any:
        pairs = [line.partition("=") for line in super().to_python(value)]
        if not all(separator and name.strip() for name, separator, _rest in pairs):
            raise forms.ValidationError(_("Each line is a name, an equals sign and a value."))
        return {name.strip(): rest.strip() for name, _separator, rest in pairs}

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(f"{key} = {entry}" for key, entry in value.items()) if isinstance(value, dict) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.prepare_value(initial) != self.prepare_value(data))


class LevelsField(PairsField):
    """One `name = 0 to 4` a line."""

    def to_python(self, value: Any) -> Any:
        pairs = super().to_python(value)
        if not all(level in map(str, ClearanceLevel.values) for level in pairs.values()):
            raise forms.ValidationError(_("Each line is a name, an equals sign and a number from 0 to 4."))
        return {name: int(level) for name, level in pairs.items()}


def switch(label: Any, help_text: Any = "") -> forms.BooleanField:
    return forms.BooleanField(label=label, help_text=help_text, required=False, widget=UnfoldBooleanSwitchWidget)


def number(label: Any, low: int, high: int, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, help_text=help_text, min_value=low, max_value=high, widget=UnfoldAdminIntegerFieldWidget
    )


class CapitalLabels:
    """Labels of fields that a form declares itself begin like those that Django makes of a model."""

    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.label = capfirst(str(field.label or ""))


def setting_name(kind: str, field: SettingField) -> str:
    """The field of the form that holds a setting of a connector."""
    return f"{kind}_{field.name}"


def setting_input(field: SettingField) -> forms.Field:
    """How a setting of a connector is entered."""
    words: dict[str, Any] = {"label": field.label, "help_text": field.help_text}
    match field.kind:
        case "lines":
            return LinesField(**words)
        case "switch":
            return switch(**words)
        case "number":
            return forms.IntegerField(**words, required=False, widget=UnfoldAdminIntegerFieldWidget)
        case "text_area":
            return forms.CharField(**words, required=False, widget=UnfoldAdminTextareaWidget({"rows": 6}))
        case _:
            return forms.CharField(**words, required=False, widget=UnfoldAdminTextInputWidget)


class SourceForm(CapitalLabels, forms.ModelForm):  # type: ignore[type-arg]
    """Says beside the fields what the services would refuse."""

    scope: ClassVar[Scope]

    kind = forms.ChoiceField(label=_("system"), choices=kind_choices, widget=KindSelect)
    location = forms.CharField(
        label=_("location"),
        max_length=2048,
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
    )
    sets = forms.TypedMultipleChoiceField(
        label=_("knowledge sets"),
        coerce=int,
        widget=SetChoiceInput,
        help_text=_("Its documents can be found in these."),
        error_messages={"required": _("Choose a knowledge set, or share the source with other owners.")},
    )
    include = LinesField(label=_("include"), help_text=_("Patterns such as *.pdf or radio/*, one per line."))
    exclude = LinesField(label=_("exclude"), help_text=_("Patterns, one per line."))
    tags = LinesField(label=_("tags"), help_text=_("For all documents of the source, one per line."))
    metadata = PairsField(label=_("attributes"), help_text=_("For all its documents: name = value, one per line."))
    max_documents = number(_("maximum documents"), 1, 1_000_000)
    clearance = forms.TypedChoiceField(
        label=_("clearance"),
        choices=ClearanceLevel.choices,
        coerce=int,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Applies to documents that state no clearance."),
    )
    clearance_floor = forms.TypedChoiceField(
        label=_("minimum clearance"),
        choices=ClearanceLevel.choices,
        coerce=int,
        required=False,
        empty_value=int(ClearanceLevel.PUBLIC),  # type: ignore[arg-type]  # what `coerce` gives, not a string
        widget=UnfoldAdminSelectWidget,
        help_text=_("Its documents never have a lower clearance, whatever they state."),
    )
    levels = LevelsField(
        label=_("names of security levels"),
        help_text=_(
            "Where the handler maps a field to “clearance”: name = 0 to 4, one per line. Usual names are known."
        ),
    )
    delete_missing = switch(
        _("delete missing documents"), _("Documents that are gone from the source are deleted here.")
    )
    delete_at_most_percent = number(
        _("maximum share deleted at once (%)"),
        1,
        100,
        _("A larger share waits until somebody decides; up to three documents never wait."),
    )
    requests_per_minute = forms.IntegerField(
        label=_("requests per minute"),
        required=False,
        min_value=0,
        max_value=6000,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("At most so many. 0: as fast as the source answers."),
    )
    hours = forms.RegexField(
        r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$",
        label=_("hours"),
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Runs of the schedule only then, such as 22:00-06:00. If empty, at any time."),
    )
    people = PairsField(
        label=_("names of readers"),
        help_text=_(
            "Where the source says who may read: name there = user:name or group:name here, one per line; * means "
            "everybody. Others are found by e-mail address, directory id or name; who is not found reads nothing."
        ),
    )
    shared = switch(_("shared"), _("Other owners may use this source."))
    allow_private = switch(
        _("private addresses"), _("Its own hosts may be in a private network. For platform administrators.")
    )
    login = forms.CharField(
        label=_("user name there"),
        required=False,
        max_length=256,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("Where the source wants a name and a password."),
    )
    secret = forms.CharField(
        label=_("secret, token or password"),
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("Never shown. Leave empty to keep the stored secret."),
    )

    webhook_secret = forms.CharField(
        label=_("secret of its webhook"),
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("With it the system signs its calls after changes. Enter it together with the secret."),
    )

    class Meta:
        model = Source
        fields: ClassVar = ["name", "kind", "handler", "owner", "schedule", "enabled"]
        widgets: ClassVar = {"name": UnfoldAdminTextInputWidget}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        options = asdict(strictly(SourceOptions, self.instance.options))
        self.initial.update({name: options[name] for name in OPTIONS} | {"location": self.instance.location})
        for kind in connector_kinds().values():
            settings = self.instance.settings if self.instance.kind == kind.kind else {}
            typed: Any = strictly(kind.settings_type, settings)
            self.initial.update(
                {setting_name(kind.kind, field): getattr(typed, field.name) for field in kind.setting_fields}
            )
        tenant_id = self.instance.tenant_id or self.scope.tenant_id
        folders = places_usable(scope=self.scope, tenant_id=tenant_id, kind=SourcePlace.Kind.FOLDER)
        kind = self.instance.kind if self.instance.pk else self.data.get("kind", self.initial.get("kind", ""))
        kinds = [kind] if self.instance.pk else [value for value, _label in source_kinds()]
        self.fields["location"].help_text = locations_help(kinds, chosen=kind, folders=folders)
        self._require_location(str(kind))
        self._offer_sets()
        if self.scope.administers != "everything":
            self.fields["allow_private"].disabled = True

    def _require_location(self, kind: str) -> None:
        """What is sent here has none. The browser does not insist: without scripts another kind may be chosen."""
        location = self.fields["location"]
        location.required = kind in LISTED_KINDS
        location.widget.use_required_attribute = lambda initial: False  # type: ignore[method-assign]
        location.error_messages["required"] = _("Enter the location.")
        for connector in connector_kinds().values():
            for field in connector.setting_fields:
                name = setting_name(connector.kind, field)
                self.fields[name].required = field.is_required and connector.kind == kind
                self.fields[name].widget.is_required = False

    def _offer_sets(self) -> None:
        """A new source is asked for its sets; one that is there has a page for its part in each."""
        if self.instance.pk:
            del self.fields["sets"]
            return
        sets = sets_managed(scope=self.scope).filter(tenant=self.scope.tenant_id).order_by("axis", "name")
        field: Any = self.fields["sets"]
        field.widget.rows = set_choice_rows(sets)
        field.choices = [(row.id, row.name) for row in field.widget.rows]
        field.required = bool(field.choices) and not self.data.get("shared")
        if len(field.choices) == 1:
            self.initial.setdefault("sets", [row.id for row in field.widget.rows])

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if not self.errors:
            kind = self.instance.kind if self.instance.pk else self.cleaned_data["kind"]
            tenant_id = self.instance.tenant_id or self.scope.tenant_id
            source = self.instance if self.instance.pk else Source(tenant_id=tenant_id, kind=kind)
            try:
                source_check(scope=self.scope, source=source, values=self.values())
            except RagError as error:
                name = FIELD_OF_REASON.get(error.reason) if error.code == "invalid_source" else None
                self.add_error(name or FIELD_OF_CODE.get(error.code), self._words(error))
        title = self.cleaned_data.get("name")
        tenant_id = self.instance.tenant_id or self.scope.tenant_id
        if title and Source.objects.filter(tenant=tenant_id, name=title).exclude(pk=self.instance.pk).exists():
            self.add_error("name", _("Another source has this name."))
        return cleaned

    def _words(self, error: RagError) -> str:
        """What is wrong; who may release the place finds the page where that is done."""
        words = error_message(error)
        if error.code not in PLACE_CODES or error.reason or not administers(scope=self.scope, doing=PLACES_MANAGE):
            return words
        address = reverse("admin:knowledge_sourceplace_changelist")
        return format_html('{} <a class="rs-link" href="{}">{}</a>', words, address, _("Folders and hosts"))

    def values(self) -> dict[str, Any]:
        """What was entered, as the services take it."""
        data = self.cleaned_data
        values = {name: data[name] for name in ("name", "location", "schedule", "enabled")}
        values["handler"] = data["handler"].code if data["handler"] else None
        values["owner"] = data["owner"].username if data["owner"] else None
        values["options"] = {name: data[name] for name in OPTIONS}
        values["options"]["requests_per_minute"] = data["requests_per_minute"] or 0
        if not self.instance.pk:
            values["kind"] = data["kind"]
        if data["secret"]:
            with_name = {"user": data["login"], "password": data["secret"]}
            values["credentials"] = with_name if data["login"] else {"": data["secret"]}
        if data["webhook_secret"]:
            sign_in = values.get("credentials", {})
            values["credentials"] = {{"": "token"}.get(name, name): value for name, value in sign_in.items()}
            values["credentials"]["webhook"] = data["webhook_secret"]
        kind = self.instance.kind if self.instance.pk else data["kind"]
        if kind in connector_kinds():
            entered = {field.name: data[setting_name(kind, field)] for field in connector_kinds()[kind].setting_fields}
            values["settings"] = {name: value for name, value in entered.items() if value not in ("", None)}
        return values

    def _post_clean(self) -> None:
        """The services write the row and check it; the form only shows it."""


def source_form() -> type[SourceForm]:
    """The form with a field for each setting of each kind of connector."""
    inputs = {
        setting_name(name, field): setting_input(field)
        for name, kind in connector_kinds().items()
        for field in kind.setting_fields
    }
    return type("SourceForm", (SourceForm,), inputs)
