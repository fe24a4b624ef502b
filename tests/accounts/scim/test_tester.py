"""A public checker of SCIM services asks the site over real HTTP (`make clients` makes its environment)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accounts.key_scopes import KeyScope
from accounts.services import api_key_create
from tests.api.world import world_make

PYTHON = Path(__file__).parents[3] / ".venv-clients" / "bin" / "python"
SCRIPT = Path(__file__).parent / "check_server.py"
needs_clients = pytest.mark.skipif(not PYTHON.exists(), reason="the environment of the clients is not there")


# What the checker takes for a fault: it wants back exactly what it sent.
FILLED = ("emails", "members")  # we add type and primary, which Entra looks for, and the name of a member
LASTING = "'active'"  # that a person is active is always said


def is_fault(result: dict[str, Any]) -> bool:
    """Whether a result says that something is wrong."""
    if result["status"] in ("SUCCESS", "SKIPPED", "COMPLIANT", "ACCEPTABLE"):
        return False
    reason = str(result["reason"])
    is_filled = any(f"unexpected value for '{name}'" in reason for name in FILLED)
    return not (is_filled or (result["check"] == "check_remove_attribute" and LASTING in reason))


@needs_clients
@pytest.mark.timeout(300)
def test_the_checker_has_nothing_to_say(transactional_db: None, live_server: Any) -> None:
    key = api_key_create(user=world_make().root, name="checker", scopes=[KeyScope.DIRECTORY])[1]

    command = (str(PYTHON), str(SCRIPT), f"{live_server.url}/scim/v2", key)
    output = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True).stdout

    results = [json.loads(line) for line in output.splitlines()]
    assert [result for result in results if is_fault(result)] == []
    assert sum(result["status"] == "SUCCESS" for result in results) > 60
    assert {"User", "Group"} <= {result["of"] for result in results if result["status"] == "SUCCESS"}
