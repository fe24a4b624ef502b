#!/usr/bin/env bash
# bench/peers/install.sh PYTHON FOLDER: the peers' environment. What cannot be installed is said and left out, so that
# the benchmark reports it and measures the others. Constraints keep the versions when packages are tried one by one.
set -uo pipefail
python=$1 folder=$2
requirements="$(dirname "${BASH_SOURCE[0]}")/requirements.txt"
[ "$folder/.installed" -nt "$requirements" ] && exit 0
"$python" -m venv "$folder" || { echo "No environment for the peers could be made with $python" >&2; exit 0; }
install=("$folder/bin/python" -m pip install --disable-pip-version-check --quiet --no-input)
echo "Installing the systems to compare with into $folder; the first time takes a few minutes …" >&2
if "${install[@]}" -r "$requirements"; then
    touch "$folder/.installed"
    exit 0
fi
grep -E '^[a-z]' "$requirements" | sed 's/\[[^]]*\]//' >"$folder/constraints.txt"
grep -E '^[a-z]' "$requirements" | while read -r line; do
    "${install[@]}" -c "$folder/constraints.txt" "$line" || echo "could not be installed: $line" >&2
done
exit 0
