#!/bin/sh
# One test runs the shipped configuration of nginx. Where we may, we install nginx (Debian, root); elsewhere that test is
# skipped and says so.
set -eu

command -v nginx >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && apt-get install -qy --no-install-recommends nginx-light; } ||
        echo "nginx could not be installed; its test is skipped" >&2
else
    echo "nginx is not installed; its test is skipped" >&2
fi
