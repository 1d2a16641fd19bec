#!/bin/sh
# Installs what `make check` and `make night` can use: RabbitMQ, Redis, PgBouncer, Node with npm, rsync, openssl, zsh,
# fish, bubblewrap, Chromium, and faketime, which sets a process's clock. Called by `make servers`.
#
# Nothing is done for a server whose test URL is set, that answers on loopback, or whose program is installed (the
# tests start a private one themselves). The missing packages are installed if this is a Debian-like machine and the
# user is root. Otherwise one line for each says how to get it: an error under CI=true, and the tests that need it are
# skipped if not.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # where RabbitMQ is, which not every user's PATH has
python=.venv/bin/python

have() { command -v "$1" >/dev/null 2>&1; }

answers() { "$python" -c "import socket; socket.create_connection(('127.0.0.1', $1), 1)" 2>/dev/null; }

debian_root() { [ "$(id -u)" = 0 ] && have apt-get && have dpkg; }

missing=
needs() { missing="$missing $1"; }

[ -n "${SLUICE_TEST_RABBITMQ_URL:-}" ] || have rabbitmq-server || answers 5672 || needs rabbitmq-server
[ -n "${SLUICE_TEST_REDIS_URL:-}" ] || have redis-server || answers 6379 || needs redis-server
[ -n "${SLUICE_TEST_PGBOUNCER:-}" ] || have pgbouncer || needs pgbouncer
have node || needs nodejs
have npm || needs npm
have rsync || needs rsync
have openssl || needs openssl
have zsh || needs zsh
have fish || needs fish
have faketime || needs faketime
[ "$(uname)" != Linux ] || have bwrap || needs bubblewrap
[ -n "${SLUICE_TEST_CHROMIUM:-}" ] || have chromium || have chromium-browser || have google-chrome || needs chromium
[ -n "$missing" ] || exit 0

fate="its tests are skipped"
[ "${CI:-}" != true ] || fate="CI=true requires it"

explain() {
    case $1 in
    rabbitmq-server) what="RabbitMQ" how="start one on 127.0.0.1:5672, give SLUICE_TEST_RABBITMQ_URL, or start Docker" ;;
    redis-server) what="Redis" how="start one on 127.0.0.1:6379, give SLUICE_TEST_REDIS_URL, or start Docker" ;;
    chromium) what="a browser" how="or set SLUICE_TEST_CHROMIUM to a Chromium that is there" ;;
    bubblewrap) what="the program bwrap" how="or get it from where bubblewrap is made" ;;
    pgbouncer) what="PgBouncer" how="or set SLUICE_TEST_PGBOUNCER to a program that is there" ;;
    rsync | openssl | zsh | fish | faketime) what="the program $1" how="or get it from where $1 is made" ;;
    *) what="Node's program ${1%js}" how="or get it from nodejs.org" ;;
    esac
    echo "make servers: $what is missing; $fate. Install the package $1, $how." >&2
}

if ! debian_root; then
    if have docker && docker info >/dev/null 2>&1; then # The tests run the two servers in it.
        missing=$(echo "$missing" | tr ' ' '\n' | grep -v -e '-server$' || true)
    fi
    for package in $missing; do explain "$package"; done
    [ -z "$missing" ] || [ "${CI:-}" != true ] || exit 1
    exit 0
fi

log=$(mktemp)
policy=/usr/sbin/policy-rc.d
own_policy=
tidy() {
    rm -f "$log"
    [ -z "$own_policy" ] || rm -f "$policy"
}
trap tidy EXIT
trap 'exit 130' INT TERM

run() {
    "$@" >"$log" 2>&1 && return
    cat "$log" >&2
    echo "make servers: this failed: $*" >&2
    exit 1
}

echo "make servers: installing$missing with apt-get; no system service is started."
if [ ! -e "$policy" ]; then
    # Debian asks this file before a package starts its service; 101 forbids it. It goes when we do.
    own_policy=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
run apt-get -qq -o DPkg::Lock::Timeout=120 update
# shellcheck disable=SC2086 # One word per package is what is wanted here.
run apt-get -qq -o DPkg::Lock::Timeout=120 install --yes --no-install-recommends $missing
