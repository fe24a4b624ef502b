"""The workflow of the documentation: its commands pass, fail on a regression, and leave the files that it keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evaluation.models import GoldenSet
from knowledge.models import Chunk
from knowledge.services.edits import chunk_disable
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.live_site import ROOT, child_environment

WORKFLOW = ROOT / "docs" / "clients" / "quality-gate.yml"
TEXTS = {
    "rach": "The random access procedure has four steps. The preamble is sent on PRACH.",
    "ca": "Carrier aggregation combines several component carriers of one terminal.",
    "paging": "Paging calls an idle terminal on the downlink of its cell.",
}
CASES = (
    "question,answers,relevant\n"
    "How many steps does the random access procedure have?,four,rach\n"
    "What does carrier aggregation combine?,component carriers,ca\n"
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.fixture
def workflow():
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["gate"]


@pytest.fixture
def owner():
    owner = make_admin("admin")
    radio = make_set("radio", owners=[owner])
    ingest(owner, radio, **TEXTS)
    GoldenSet.objects.create(tenant=owner.tenant, name="radio").sets.add(radio)
    return owner


@pytest.fixture
def checkout(tmp_path) -> Path:
    """The repository of somebody who uses the workflow."""
    (tmp_path / "quality").mkdir()
    (tmp_path / "quality" / "cases.csv").write_text(CASES, encoding="utf-8")
    return tmp_path


def run(workflow, checkout) -> subprocess.CompletedProcess[str]:
    """Run the commands of the workflow's steps as a runner does, with the paths of this checkout."""
    paths = {"RAGSITE": str(ROOT), "PYTHON": sys.executable, "DATA_DIR": str(checkout / "var")}
    variables = {**child_environment(), **workflow["env"], **paths, "PYTHONPATH": str(ROOT)}
    variables["DATA_DIR"] = os.environ.get("DATA_DIR", variables["DATA_DIR"])
    (command,) = [step["run"] for step in workflow["steps"] if "run" in step]
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=checkout, env=variables, text=True, capture_output=True, check=False
    )


@pytest.mark.full
def test_the_commands_of_the_workflow_pass_and_fail_when_answers_get_worse(workflow, owner, checkout):
    first = run(workflow, checkout)

    assert first.returncode == 0, first.stdout + first.stderr
    kept = workflow["steps"][-1]["with"]["path"].split()
    assert [name for name in kept if not (checkout / name).is_file()] == []
    figures = json.loads((checkout / "figures.json").read_text(encoding="utf-8"))["figures"]
    assert figures["recall_grade"]["levels"] == {"correct": 2, "partial": 0, "none": 0}

    (checkout / "scores.json").rename(checkout / "quality" / "baseline.json")
    assert run(workflow, checkout).returncode == 0
    lost = Chunk.objects.get(version__document__external_id="rach")
    chunk_disable(scope=scope_of(owner), actor=owner, chunk_id=lost.pk)
    worse = run(workflow, checkout)

    assert worse.returncode == 1, worse.stdout + worse.stderr
    assert "The gate has failed." in worse.stdout
    assert "<failure" in (checkout / "gate.xml").read_text(encoding="utf-8")
