from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from ragcore.errors import (
    CorruptDocumentError,
    EmptyDocumentError,
    PasswordProtectedError,
    ResourceLimitError,
    SandboxUnavailableError,
)
from ragcore.parsing import parse
from ragcore.parsing.parser_errors import UnsupportedFormatError, coded_errors
from ragcore.parsing.sandbox import confine as confine_module
from ragcore.parsing.sandbox import process, serialization
from ragcore.parsing.sandbox.parse import SMALL_BYTES, needs_sandbox, parse_in_sandbox, parse_small
from ragcore.parsing.sandbox.process import SandboxLimits
from ragcore.parsing.text import TextParser
from ragcore.types import Block, Box, ParsedDocument
from tests.ragcore.parsing.build import docx_bytes, lines, pdf_bytes

has_landlock = pytest.mark.skipif(
    sys.platform != "linux" or ctypes.CDLL(None).syscall(444, None, 0, 1) < 1, reason="this kernel has no Landlock"
)
has_seccomp = pytest.mark.skipif(sys.platform != "linux", reason="seccomp exists on Linux only")
PDF = pdf_bytes([lines(["Some text on one page."])])


def confined(code: str) -> str:
    """What a confined process prints."""
    return confined_by(f"confine(memory_bytes=512 << 20, cpu_seconds=10, output_bytes=1000)\n{code}")


def confined_by(code: str) -> str:
    """What a process prints that confines itself."""
    code = f"from ragcore.parsing.sandbox.confine import confine\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip().split("\n")[-1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "文本".encode()),
        ("guessed.txt", ("Высота мачты над площадкой тридцать метров, её осматривают весной. " * 9).encode("cp1251")),
        ("guessed.html", ("<p>Высота мачты над площадкой тридцать метров.</p>" * 9).encode("cp1251")),
        ("a.md", b"# a\n\ntext"),
        ("a.html", b"<p>text</p>"),
        ("a.pdf", PDF),
        ("a.docx", docx_bytes(lambda document: document.add_heading("标题", 2))),
    ],
)
def test_a_contained_parse_gives_what_a_parse_in_process_gives(name, content):
    assert parse_in_sandbox(content, name=name) == parse(content, name=name)


def test_errors_of_the_parser_keep_their_kind_and_data():
    with pytest.raises(PasswordProtectedError):
        parse_in_sandbox(pdf_bytes([lines(["x"])], encrypt="pw"), name="a.pdf")
    with pytest.raises(EmptyDocumentError) as refusal:
        parse_in_sandbox(pdf_bytes([[]]), name="a.pdf")

    assert refusal.value.data["name"] == "a.pdf"


def test_no_process_is_started_for_an_unknown_format():
    with pytest.raises(UnsupportedFormatError):
        parse_in_sandbox(b"x", name="a.exe")


@pytest.mark.parametrize(
    "limits",
    [
        SandboxLimits(wall_seconds=0.01),
        SandboxLimits(output_bytes=20),
    ],
    ids=["time", "output"],
)
def test_a_limit_that_is_reached_is_reported_as_such(limits):
    with pytest.raises(ResourceLimitError):
        parse_in_sandbox(pdf_bytes([lines(["text"] * 50)] * 20), name="a.pdf", limits=limits)


def test_memory_is_limited():
    endless = b"<p>" + b"<b>x</b>" * 400_000

    with pytest.raises(ResourceLimitError):
        parse_in_sandbox(endless, name="a.html", limits=SandboxLimits(memory_bytes=128 << 20))


def test_processor_time_is_limited():
    endless = b"<p>" + b"<b>x</b>" * 400_000

    with pytest.raises(ResourceLimitError):
        parse_in_sandbox(endless, name="a.html", limits=SandboxLimits(cpu_seconds=1, memory_bytes=4 << 30))


def test_the_process_sees_no_environment_of_the_server(monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    seen: dict[str, str] = {}

    def popen(*arguments, env, **others):
        seen.update(env)
        return original(*arguments, env=env, **others)

    original = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", popen)
    parse_in_sandbox(b"text", name="a.txt")

    assert "DATABASE_PASSWORD" not in seen
    assert set(seen) <= {"LC_ALL", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}


@has_seccomp
@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket()",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.execv('/bin/true', ['true'])",
    ],
)
def test_a_confined_process_gets_no_network_and_no_programs(code):
    assert "PermissionError" in confined(code)


def test_a_confined_process_cannot_fill_the_disk(tmp_path):
    path = tmp_path / "large"

    said = confined(f"open({str(path)!r}, 'wb').write(b'x' * 100_000)")

    assert "OSError" in said or "PermissionError" in said
    assert not path.exists() or path.stat().st_size <= 1000


@has_landlock
def test_a_confined_process_reads_its_libraries_and_nothing_of_the_site(tmp_path):
    secret = tmp_path / ".env"
    secret.write_text("SECRET_KEY=x")

    assert "PermissionError" in confined(f"open({str(secret)!r}).read()")
    assert "PermissionError" in confined("open('/etc/passwd').read()")
    assert confined("import pptx, openpyxl, docx, lxml.etree; print('fine')") == "fine"
    assert confined("import ragcore.text.scripts, ragcore.parsing.csv; print('fine')") == "fine"


CALLING = (
    "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(*arguments):\n    libc.syscall(*arguments)\n    print(ctypes.get_errno())\n"
)
REFUSED = {
    "a signal to its parent": "import os; os.kill(os.getppid(), 0)",
    "a signal to everybody": "import os; os.kill(-1, 0)",
    "a signal to a group": "import os; os.killpg(0, 0)",
    "a signal by descriptor": "import os; os.pidfd_open(os.getppid())",
    "a child": "import os; os.fork()",
    "limits of its parent": "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "rights of a file": "import os; os.chmod('/tmp', 0o777)",
    "times of a file": "import os; os.utime('/tmp')",
    "a name of a file": "import os; os.rename('/tmp/a', '/tmp/b')",
    "a user": "import os; os.setuid(1)",
    "priority of others": "import os; os.setpriority(os.PRIO_USER, 0, 1)",
    "a terminal": "import fcntl; fcntl.ioctl(1, 0x5412, b'x')",
    "an owner of signals": "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid())",
}


@has_seccomp
def test_a_confined_process_reaches_no_other_process_and_changes_nothing():
    """All in one process: nothing of it ends the process either."""
    tried = "\n".join(f"attempt({name!r}, {code!r})" for name, code in REFUSED.items())
    code = (
        "def attempt(name, code):\n"
        "    try:\n        exec(code)\n        print('done:', name)\n"
        "    except OSError as problem:\n"
        "        if problem.errno not in (1, 13): print(problem.errno, name)\n"
    )

    assert confined(f"{code}{tried}\nprint('end')") == "end"


@has_seccomp
def test_a_confined_process_makes_no_namespaces_and_sees_no_other_memory():
    numbers = {"unshare": 272, "setns": 308, "mount": 165, "ptrace": 101, "process_vm_readv": 310, "bpf": 321}
    numbers |= {"io_uring_setup": 425, "keyctl": 250, "userfaultfd": 323, "perf_event_open": 298, "clone": 56}
    if platform.machine() != "x86_64":
        pytest.skip("numbers of system calls of x86-64")
    calls = "\n".join(f"call({number}, 0x10000000, 0, 0, 0, 0)" for number in numbers.values())
    thirty_two_bit = "call(0x40000000 | 39)"  # getpid of x32

    said = confined(CALLING + calls + "\n" + thirty_two_bit).split()

    assert said == ["1"] * (len(numbers) + 1)
    assert confined(CALLING + "call(435, 0, 0)") == "38"  # clone3: libraries then use clone


@has_seccomp
def test_a_confined_process_still_has_threads_and_may_end_itself():
    threads = "import threading\nt = threading.Thread(target=print, args=('fine',)); t.start(); t.join()"

    assert confined(threads) == "fine"
    code = "from ragcore.parsing.sandbox.confine import confine\nimport os\n"
    code += "confine(memory_bytes=512 << 20, cpu_seconds=10, output_bytes=1000)\nos.abort()"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGABRT


@has_seccomp
def test_programs_of_a_workspace_make_no_namespaces_either(tmp_path):
    limits = f"memory_bytes=512 << 20, cpu_seconds=10, output_bytes=1000, workspace=pathlib.Path({str(tmp_path)!r})"
    code = f"import pathlib, subprocess\nconfine({limits})\n"

    assert confined_by(code + "print(subprocess.run(['unshare', '-U', 'true'], capture_output=True).returncode)") != "0"
    assert confined_by(code + "print(subprocess.run(['true']).returncode)") == "0"


@has_seccomp
@has_landlock
def test_a_confined_process_says_what_is_in_force_and_so_does_the_machine():
    said = confined_by("print(*sorted(confine(memory_bytes=512 << 20, cpu_seconds=10, output_bytes=1000)))").split()
    measures = process.sandbox_measures()

    assert {"files", "limits", "network", "signals", "system_calls"} <= set(said)
    assert {name for name, is_taken in measures.items() if is_taken} == set(said)
    assert set(measures) == set(confine_module.MEASURES)


WITHOUT = "import ragcore.parsing.sandbox.confine as c\nc.restrict_files = lambda *a, **k: False\n"


def test_where_confinement_is_required_and_cannot_be_no_file_is_opened(monkeypatch, tmp_path):
    """The child finds a kernel without Landlock; then the parent says why nothing was read."""
    limits = "memory_bytes=512 << 20, cpu_seconds=10, output_bytes=1000, required=True"
    code = f"{WITHOUT}c.confine({limits})\nprint('opened')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (confine_module.UNCONFINED_EXIT, "")
    monkeypatch.setattr(process, "_run", lambda *arguments: (confine_module.UNCONFINED_EXIT, 0))
    with pytest.raises(SandboxUnavailableError):
        parse_in_sandbox(PDF, name="a.pdf")


@has_seccomp
@has_landlock
def test_where_confinement_is_required_and_can_be_files_are_read_and_small_ones_too(monkeypatch):
    monkeypatch.setattr(process.POLICY, "required", True)

    assert needs_sandbox("a.txt", 3)
    assert parse_in_sandbox(PDF, name="a.pdf") == parse(PDF, name="a.pdf")


@has_landlock
def test_a_confined_process_with_a_workspace_writes_there_and_starts_programs(tmp_path):
    code = (
        "import subprocess, pathlib; folder = pathlib.Path({folder!r})\n"
        "confine(memory_bytes=512 << 20, cpu_seconds=10, output_bytes=1000, workspace=folder)\n"
        "subprocess.run(['cp', '/dev/null', str(folder / 'new')], check=True)\n"
    )
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "workspace"
    folder.mkdir()

    assert confined_by(code.format(folder=str(folder)) + "print('fine')") == "fine"
    assert (folder / "new").exists()
    refused = confined_by(code.format(folder=str(folder)) + f"open({str(elsewhere)!r}, 'w')")
    assert "PermissionError" in refused


@has_seccomp
def test_programs_of_a_workspace_get_local_sockets_only(tmp_path):
    limits = f"memory_bytes=512 << 20, cpu_seconds=10, output_bytes=1000, workspace=pathlib.Path({str(tmp_path)!r})"
    code = f"import pathlib, socket\nconfine({limits})\n"

    assert confined_by(code + "socket.socket(socket.AF_UNIX); print('fine')") == "fine"
    assert "PermissionError" in confined_by(code + "socket.socket(socket.AF_INET)")


@has_seccomp
def test_old_formats_inside_a_contained_process_say_that_they_cannot_be_converted():
    code = "from ragcore.parsing import parse, UnsupportedFormatError\nparse(rb'{\\rtf1 x}', name='a.rtf')"

    assert "ConverterMissingError" in confined(code)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can give up being root")
def test_a_confined_process_of_root_can_no_longer_act_as_root(tmp_path):
    assert "PermissionError" in confined("import os; os.chroot('/usr')")


def test_a_confined_process_cannot_take_memory():
    assert "MemoryError" in confined("b'x' * (1 << 30)")


def test_small_text_needs_no_process_and_everything_else_does():
    assert not needs_sandbox("a.txt", 100)
    assert not needs_sandbox("A.HTML", SMALL_BYTES - 1)
    assert needs_sandbox("a.txt", SMALL_BYTES)
    assert needs_sandbox("a.pdf", 100)
    assert needs_sandbox("a.docx", 100)
    with pytest.raises(UnsupportedFormatError):
        needs_sandbox("a.exe", 1)


def test_a_small_file_is_parsed_here_and_its_errors_pass():
    assert parse_small("文本".encode(), name="a.txt") == parse("文本".encode(), name="a.txt")
    with pytest.raises(EmptyDocumentError):
        parse_small(b"", name="a.md")


@pytest.mark.parametrize("work", [lambda: re.match(r"(a|aa)+$", "a" * 60 + "b"), lambda: all(n >= 0 for n in count())])
def test_a_small_file_that_takes_too_long_is_given_up(work, monkeypatch):
    def parse_for_ever(self, content, *, name):
        with coded_errors(name):
            work()

    monkeypatch.setattr(TextParser, "parse", parse_for_ever)
    before = signal.getsignal(signal.SIGALRM)
    seconds_left, _ = signal.getitimer(signal.ITIMER_REAL)  # of a timer of somebody else

    assert parse_small(b"text", name="a.txt", seconds=0.2) is None
    assert signal.getsignal(signal.SIGALRM) is before
    assert 0 <= seconds_left - signal.getitimer(signal.ITIMER_REAL)[0] < 60


def test_in_a_thread_that_knows_no_deadline_no_file_is_parsed_outside_a_process():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(parse_small, b"text", name="a.txt").result() is None


def test_a_document_survives_the_wire():
    box = Box(page=3, x0=1.5, y0=2, x1=3, y1=4)
    document = ParsedDocument(
        blocks=(Block(kind="heading", text="标题 \u2028", level=2, page=3, box=box), Block(kind="code", text="x\n  y")),
        title="t",
        pages=7,
        metadata={"author": "Li"},
    )

    assert serialization.load_document(serialization.dump_document(document)) == document


@pytest.mark.parametrize(
    "answer",
    [b"", b"[]", b"{}", b'{"document": {"blocks": [{}]}}', b'{"document": 1}', b'{"error": {}}', b"\xff\xfe"],
)
def test_an_answer_of_a_process_that_went_mad_is_refused(answer):
    with pytest.raises(ValueError, match=r"not an? (?:answer|document)|Expecting value|codec can"):
        serialization.load_document(answer)


def test_an_unknown_error_code_is_a_corrupt_document():
    answer = json.dumps({"error": {"code": "invented", "reason": "", "data": {}}}).encode()

    with pytest.raises(CorruptDocumentError):
        serialization.load_document(answer)


def test_no_process_is_left_behind_after_a_timeout(monkeypatch):
    started: list[subprocess.Popen[bytes]] = []
    original = subprocess.Popen

    def popen(*arguments, **options):
        started.append(original(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(ResourceLimitError):
        parse_in_sandbox(PDF, name="a.pdf", limits=SandboxLimits(wall_seconds=0.001))

    with pytest.raises(ProcessLookupError):
        os.kill(started[0].pid, 0)
