#!/bin/sh
# The browser tests need Chromium and a font with Chinese characters. Where we may, we install them (Debian, root);
# elsewhere we say what is missing, and the browser tests fail until it is there.
set -eu

missing=""
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
    missing="chromium"
[ -n "$(find /usr/share/fonts /usr/local/share/fonts "$HOME/.fonts" -iname '*cjk*' -print -quit 2>/dev/null)" ] ||
    missing="$missing fonts-noto-cjk"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    # shellcheck disable=SC2086 - two package names
    apt-get install -qy --no-install-recommends $missing
else
    echo "The browser tests need these packages, and they fail without them: $missing" >&2
fi
