"""What is installed is what was locked: by hash, from the same lists everywhere; images can be named by digest."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = {
    "requirements.lock": 20,
    "requirements-dev.lock": 20,
    "requirements-audit.lock": 20,
    "requirements-ldap.lock": 3,
    "requirements-llama.lock": 3,
}
PIN = re.compile(r"^([a-z0-9-]+)==\S+(?: ; [^\\]+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


def script(name: str) -> ModuleType:
    """A program of scripts/, which is no package."""
    spec = spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned(name: str) -> set[str]:
    return {found[0] for found in PIN.findall((ROOT / name).read_text(encoding="utf-8"))}


@pytest.mark.parametrize(("name", "least"), LOCKS.items())
def test_every_package_of_the_lock_files_has_its_hashes(name, least):
    text = (ROOT / name).read_text(encoding="utf-8")
    rest = PIN.sub("", text)

    assert len(pinned(name)) > least
    assert [line for line in rest.splitlines() if not line.startswith(("# ", "-r requirements.lock"))] == []


def test_the_lock_files_hold_what_pyproject_asks_for_and_torch_alone_stands_apart():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    def names(lines: list[str]) -> set[str]:
        return {str(canonicalize_name(Requirement(line).name)) for line in lines}

    runtime = pinned("requirements.lock")
    alone = (ROOT / "requirements-torch.lock").read_text(encoding="utf-8").splitlines()[1:]
    assert names(project["dependencies"] + extras["embedded"]) - runtime == {"torch"}
    assert names(alone) == {"torch"}
    assert names(extras["dev"]) <= runtime | pinned("requirements-dev.lock")
    assert names(extras["audit"]) <= pinned("requirements-audit.lock")
    assert names(extras["ldap"]) <= pinned("requirements-ldap.lock")
    assert names(extras["llama"]) <= pinned("requirements-llama.lock")


def test_nothing_is_installed_from_the_lock_files_without_looking_at_hashes():
    for path in ("Makefile", "docker/Dockerfile", "scripts/ensure_ldap.sh", "scripts/ensure_llama.sh"):
        text = (ROOT / path).read_text(encoding="utf-8").replace("$(LOCKED)", "--require-hashes --no-deps")
        text = text.replace("\\\n", " ")  # one command on two lines
        uses = [
            line for line in text.splitlines() if re.search(r"-r requirements(-dev|-audit|-ldap|-llama)?\.lock", line)
        ]
        assert uses
        assert all("--require-hashes --no-deps" in line for line in uses), path


def test_every_image_can_be_named_by_its_digest():
    compose = (ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8")
    example = (ROOT / "docker" / "env.example").read_text(encoding="utf-8")
    images = re.findall(r"(?:image|PYTHON_IMAGE): (\S+)", compose)

    named = [re.fullmatch(r"\$\{(\w+):-[^}]+\}", image) for image in images if image != "ragsite"]
    assert len(named) == 4
    assert all(found and f"\n{found[1]}=" in example for found in named)


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ("", 3, "NOTHING was checked"),
        ([{"name": "a", "skip_reason": "not found"}, {"name": "b", "skip_reason": "not found"}], 3, "NOTHING was"),
        ([{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "x"}], 3, "Not checked: b"),
        ([{"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": []}]}], 1, "CVE-1, mended in no"),
        ([{"name": "a", "version": "1", "vulns": []}], 0, "1 of 1 packages checked, 0 with"),
    ],
)
def test_an_audit_that_could_not_ask_does_not_pass(answer, status, said, monkeypatch, capsys):
    check_advisories = script("check_advisories")

    class Done:
        stdout = json.dumps({"dependencies": answer}) if answer else ""
        stderr = "ConnectionError: unreachable"

    monkeypatch.setattr(check_advisories.subprocess, "run", lambda *arguments, **options: Done)
    monkeypatch.setattr(sys, "argv", ["check_advisories.py"])

    assert check_advisories.main() == status
    assert said in capsys.readouterr().out


def test_all_pinned_packages_of_the_product_are_audited():
    pins = script("check_advisories")._pins()

    assert len(pins) == len(pinned("requirements.lock") | pinned("requirements-dev.lock")) + 1
    assert any(pin.startswith("torch==") for pin in pins)


DOCKER = """#!/bin/sh
case "$*" in *nginx*) {nginx};; esac
echo sha256:{digest}
"""


@pytest.mark.parametrize(("nginx", "status"), [(":", 0), ("echo no such host >&2; exit 1", 3)])
def test_images_are_pinned_all_or_none(tmp_path, monkeypatch, capsys, nginx, status):
    docker = tmp_path / "docker"
    docker.write_text(DOCKER.format(nginx=nginx, digest="a" * 64), encoding="utf-8")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    file = tmp_path / ".env"
    file.write_text("SECRET_KEY=x\nREDIS_IMAGE=\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["pin_images", str(file)])

    assert script("pin_images").main() == status

    written = dict(line.partition("=")[::2] for line in file.read_text(encoding="utf-8").splitlines())
    images = {name: image for name, image in written.items() if name.endswith("_IMAGE")}
    assert written["SECRET_KEY"] == "x"
    if status == 0:
        assert set(images) == {"PYTHON_IMAGE", "POSTGRES_IMAGE", "REDIS_IMAGE", "NGINX_IMAGE"}
        assert all(image.endswith(f"@sha256:{'a' * 64}") for image in images.values())
    else:
        assert images == {"REDIS_IMAGE": ""}
        assert "NOTHING was pinned. (no such host)" in capsys.readouterr().out
