"""What is wrong with a value, in words for people."""

from typing import Annotated, Literal

import pytest
from django.utils import translation
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from accounts.value_faults import faults_of, faults_text


def not_mine(value: str) -> str:
    if value == "mine":
        raise ValueError("must not be mine")
    return value


class Part(BaseModel):
    type: str


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    content: Annotated[str, Field(max_length=3), AfterValidator(not_mine)] | list[Part] | None = None
    name: Annotated[str, Field(min_length=1, max_length=5), AfterValidator(not_mine)] = "x"
    number: Annotated[int, Field(ge=1, le=9)] = 1
    share: float = 0.5
    kind: Literal["a", "b"] = "a"
    entries: Annotated[list[str], Field(min_length=1, max_length=2)] = ["x"]
    part: Part | None = None
    agreed: bool = True


def refused(**values):
    with pytest.raises(ValidationError) as error:
        Form.model_validate(values)
    return error.value.errors(include_url=False)


FAULTS = {
    "of several types": ({"content": "abcd"}, ["content: Ensure this field has no more than 3 characters."]),
    "of another type in a list": ({"content": [{"type": 3}]}, ["content.0.type: Not a valid string."]),
    "too long": ({"name": "abcdef"}, ["name: Ensure this field has no more than 5 characters."]),
    "empty": ({"name": ""}, ["name: This field may not be blank."]),
    "our own rule": ({"name": "mine"}, ["name: must not be mine"]),
    "too small": ({"number": 0}, ["number: Ensure this value is greater than or equal to 1."]),
    "too large": ({"number": 10}, ["number: Ensure this value is less than or equal to 9."]),
    "no integer": ({"number": "5"}, ["number: A valid integer is required."]),
    "no number": ({"share": "half"}, ["share: A valid number is required."]),
    "no choice": ({"kind": "c"}, ["kind: Must be one of a, b."]),
    "too many": ({"entries": ["x"] * 3}, ["entries: Ensure this field has no more than 2 elements."]),
    "none": ({"entries": []}, ["entries: Ensure this field has at least 1 elements."]),
    "no list": ({"entries": "x"}, ["entries: Must be a list."]),
    "no object": ({"part": 5}, ["part: Must be an object."]),
    "incomplete": ({"part": {}}, ["part.type: This field is required."]),
    "no boolean": ({"agreed": "yes"}, ["agreed: Must be a valid boolean."]),
    "unknown": ({"nme": "x"}, ["nme: Unknown field."]),
    "several": (
        {"number": 0, "nme": 1},
        ["number: Ensure this value is greater than or equal to 1.", "nme: Unknown field."],
    ),
}


@pytest.mark.parametrize(("values", "faults"), FAULTS.values(), ids=FAULTS.keys())
def test_every_fault_is_told_in_words(values, faults):
    assert faults_text(refused(**values)) == faults


def test_it_is_told_in_the_language_of_the_reader():
    errors = refused(name="", kind="c", nme=1)

    with translation.override("zh-hans"):
        told = dict(faults_of(errors))

    assert all(any("一" <= character <= "鿿" for character in words) for words in told.values()), told
