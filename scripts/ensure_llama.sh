#!/bin/sh
# LLM_FILE is served by llama-server of the PATH, else by the extra `llama`, which is compiled here once (some minutes, a
# C++ compiler). Where that fails the site starts all the same and says why. $1: the Python of the environment.
set -eu

if command -v llama-server >/dev/null; then exit 0; fi
if "$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("llama_cpp") is None)'; then exit 0; fi
echo "Installing llama.cpp; it is compiled for this machine, which takes some minutes …"
"$1" -m pip install --disable-pip-version-check --quiet --no-input --no-compile --require-hashes --no-deps \
    -r requirements-llama.lock || {
    echo "llama.cpp could not be installed: LLM_FILE needs a C++ compiler (apt-get install g++) and a package registry, or llama-server on the PATH; the lines above say what failed" >&2
}
