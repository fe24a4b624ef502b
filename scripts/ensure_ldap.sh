#!/bin/sh
# The tests of signing in with a directory (TESTS_FULL=1 only) start slapd and need the extra `ldap`. Where we may, we
# install OpenLDAP (Debian, root); the packages go into a folder of their own, which only these tests use. Elsewhere
# the tests are skipped and say so. $1: the Python of the environment.
set -eu

packages=.ldap-packages
skipped() {
    echo "$1; the tests of signing in with a directory are skipped" >&2
    exit 0
}

if ! { [ -x /usr/sbin/slapd ] && [ -e /usr/include/ldap.h ] && [ -e /usr/include/sasl/sasl.h ]; }; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skipped "slapd is not installed"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && apt-get install -qy --no-install-recommends slapd libldap2-dev libsasl2-dev gcc; } ||
        skipped "slapd could not be installed"
fi
[ "$packages/.installed" -nt requirements-ldap.lock ] && exit 0
rm -rf "$packages"
"$1" -m pip install --disable-pip-version-check --quiet --no-input --require-hashes --no-deps \
    --target "$packages" -r requirements-ldap.lock || skipped "django-auth-ldap could not be built"
touch "$packages/.installed"
