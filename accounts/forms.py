"""Forms of the sign-in and profile pages."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib.postgres.forms import SimpleArrayField
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, User

SEPARATORS = str.maketrans({"，": ",", "、": ",", "；": ",", ";": ","})  # what people type in Chinese


class InterestsField(SimpleArrayField):
    """Words between commas of any script, each once."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(forms.CharField(max_length=64), *args, max_length=20, **options)

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]  # its base is a CharField
        text = value.translate(SEPARATORS) if isinstance(value, str) else value
        return list(dict.fromkeys(item for item in super().to_python(text) if item))

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value


class ProfileForm(forms.ModelForm):
    """What retrieval may know about a person's work (D2, D4)."""

    interests = InterestsField(required=False, label=_("interests"), help_text=_("Separated by commas."))

    class Meta:
        model = User
        fields = ("department", "product", "role", "interests", "use_profile")
        widgets: ClassVar = {
            "department": forms.TextInput(attrs={"autocomplete": "organization"}),
            "role": forms.TextInput(attrs={"autocomplete": "organization-title"}),
        }


class ApiKeyForm(forms.ModelForm):
    """The name under which its owner will recognise a key."""

    class Meta:
        model = ApiKey
        fields = ("name",)
        widgets: ClassVar = {"name": forms.TextInput(attrs={"autocomplete": "off"})}
