"""A supervisor whose programs are tiny, for tests of starting, crashing and stopping. Run as a script."""

import sys
from pathlib import Path

from ragsite.embedded.language_model import LanguageModel
from ragsite.embedded.processes import ServiceError
from ragsite.embedded.programs import Program, model_program
from ragsite.embedded.supervisor import Supervisor, say
from ragsite.env import env

WEB = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(str(os.getpid()).encode())
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
STUBBORN = """
import pathlib, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
child.wait()
"""


def main(data_dir: Path) -> int:
    web = "raise SystemExit('no such application')" if "--broken" in sys.argv else WEB
    programs = [Program("web", ("-c", web, str(env.PORT)))]
    if "--stubborn" in sys.argv:
        programs.append(Program("worker", ("-c", STUBBORN, str(data_dir / "grandchild"))))
    try:
        bootstrap = [sys.executable, "-c", "print('bootstrapped')"]
        models = model_program() if "--models" in sys.argv else None
        return Supervisor(env, programs, bootstrap, models, LanguageModel.of(env, say)).run()
    except ServiceError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(env.DATA_DIR))
