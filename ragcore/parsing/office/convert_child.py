"""The converting process: a file on standard input, LibreOffice inside the confinement, the result on standard output.

The answer is one line of JSON ("{}" or an error) followed by the converted file (see convert.py).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, RagError, ResourceLimitError
from ragcore.parsing.office.package import is_encrypted
from ragcore.parsing.sandbox.child import write_answer
from ragcore.parsing.sandbox.confine import confine, private_tmp
from ragcore.parsing.sandbox.process import LIMIT_EXIT, RSS_UNIT_BYTES, STARVED_SHARE
from ragcore.parsing.sandbox.serialization import dump_error

_FILTERS = {
    "docx": "docx:MS Word 2007 XML",
    "xlsx": "xlsx:Calc MS Excel 2007 XML",
    "pptx": "pptx:Impress MS PowerPoint 2007 XML",
    "pdf": "pdf",
}
# No macro runs, no link is followed or updated, nothing of a private profile is asked for
_SETTINGS = (
    ("Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("Writer/Content/Update", "Link", "0"),
    ("Calc/Content/Update", "Link", "2"),
)
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
{items}
</oor:items>
"""
_ITEM = (
    '<item oor:path="/org.openoffice.Office.{path}">'
    '<prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
)


def main() -> int:
    """Read, confine, check, convert, answer."""
    order = json.loads(sys.argv[1])
    name = str(order["name"])
    folder = private_tmp(Path(order["folder"]))  # LibreOffice has a socket in /tmp
    content = sys.stdin.buffer.read()
    try:
        confine(**order["limits"], workspace=folder)
        if is_encrypted(content):
            raise PasswordProtectedError(name=name)
        answer = b"{}\n" + _converted(content, name, folder, order)
    except RagError as problem:
        answer = dump_error(problem) + b"\n"
    except MemoryError:
        answer = dump_error(ResourceLimitError(name=name, problem="memory")) + b"\n"
    try:
        write_answer(answer)
    except OSError:  # larger than RLIMIT_FSIZE
        return LIMIT_EXIT
    return 0


def _converted(content: bytes, name: str, folder: Path, order: dict[str, object]) -> bytes:
    """What LibreOffice makes of the content. Raises CorruptDocumentError."""
    source = folder / f"in/document{Path(name).suffix.lower()}"
    profile, target = folder / "profile", folder / "out"
    for path in (source.parent, profile / "user", target):
        path.mkdir(parents=True)
    source.write_bytes(content)
    (profile / "user/registrymodifications.xcu").write_text(_registry())
    options = ["--headless", "--norestore", "--nologo", "--nodefault", "--nolockcheck", "--nofirststartwizard"]
    process = subprocess.run(
        [str(order["program"]), f"-env:UserInstallation={profile.as_uri()}", *options]
        + ["--convert-to", _FILTERS[str(order["to"])], "--outdir", str(target), str(source)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=_environment(folder),
        check=False,
    )
    result = next(iter(target.glob("*")), None)
    if result is None or not result.stat().st_size:
        peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * RSS_UNIT_BYTES
        if peak_bytes > STARVED_SHARE * resource.getrlimit(resource.RLIMIT_AS)[0]:
            raise ResourceLimitError(name=name, peak_bytes=peak_bytes)
        raise CorruptDocumentError(name=name, problem=f"the converter ended with status {process.returncode}")
    return result.read_bytes()


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the server's; every path that programs write to lies in the folder."""
    places = {key: str(folder) for key in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "SAL_USE_VCLPLUGIN": "svp", **places}


def _registry() -> str:
    return _PROFILE.format(items="\n".join(_ITEM.format(path=p, name=n, value=v) for p, n, v in _SETTINGS))


if __name__ == "__main__":
    sys.exit(main())
