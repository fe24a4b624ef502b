"""What the service says of itself."""

from __future__ import annotations

import pytest

from accounts.people.records import ENTERPRISE
from tests.accounts.scim.conftest import MEI, USER


def test_the_service_tells_what_it_can_do(directory):
    config = directory.get("ServiceProviderConfig").json()

    able = {name: config[name]["supported"] for name in ("patch", "bulk", "filter", "changePassword", "sort", "etag")}
    assert able == {
        "patch": True,
        "bulk": False,
        "filter": True,
        "changePassword": False,
        "sort": False,
        "etag": True,
    }
    assert config["authenticationSchemes"][0]["type"] == "oauthbearertoken"


@pytest.mark.parametrize("path", [".search", "Bulk"])
def test_what_is_not_there_says_so_as_the_standard_asks(directory, path):
    answer = directory.post(path, {})

    assert (answer.status_code, answer.json()["status"]) == (501, "501")


def test_kinds_and_schemas_name_each_other(directory):
    kinds = directory.get("ResourceTypes").json()["Resources"]
    schemas = {schema["id"] for schema in directory.get("Schemas").json()["Resources"]}

    extensions = {each["schema"] for kind in kinds for each in kind.get("schemaExtensions", ())}
    assert {kind["schema"] for kind in kinds} | extensions == schemas
    assert all(directory.get(kind["endpoint"].strip("/")).status_code == 200 for kind in kinds)
    assert directory.get(f"Schemas/{ENTERPRISE}").json()["name"] == "EnterpriseUser"
    assert directory.get("ResourceTypes/User").json()["schema"] == USER
    assert directory.get("Schemas/nothing").status_code == 404


def test_every_attribute_of_a_person_is_described(directory):
    made = directory.post("Users", MEI).json()
    described = {each["name"] for each in directory.get(f"Schemas/{USER}").json()["attributes"]}

    common = {"schemas", "id", "externalId", "meta", ENTERPRISE}
    assert set(made) - common <= described


@pytest.mark.parametrize("path", ["Users", "Groups", "Schemas", "ServiceProviderConfig"])
def test_other_methods_and_filters_of_descriptions_are_refused_in_the_form_of_scim(directory, path):
    answer = directory.ask("delete", path)

    assert (answer.status_code, answer.json()["status"]) == (405, "405")
    assert "GET" in answer.headers["Allow"]
    assert directory.client.get("/scim/v2/Schemas", {"filter": 'id eq "x"'}).status_code == 403
