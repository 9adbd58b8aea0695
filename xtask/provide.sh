#!/bin/sh
# What a bare Debian 12 lacks, installed by name and said aloud:
#   provide.sh make      make itself, for scripts
#   provide.sh build     cargo, a C toolchain to link with
#   provide.sh checks    rustfmt and clippy
#   provide.sh clients   mosquitto's clients, and Paho and pytest in ./.venv
# Nothing is asked and nothing is read from stdin. Without root and without sudo it says what to install and stops.
set -eu
cd "$(dirname "$0")/.."
exec </dev/null
RUST=1.95
export DEBIAN_FRONTEND=noninteractive
PATH="$HOME/.cargo/bin:$PATH"

say() { echo "provide: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# A password can be asked for where there is a terminal (sudo reads it there, not from stdin), and nowhere else.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif [ -t 2 ]; then sudo "$@"; else sudo -n "$@"; fi
}

install() {
    if ! as_root true; then
        say "not root, and sudo is not to be had. Please run as root: apt-get install $*"
        exit 1
    fi
    have apt-get || { say "no apt-get here. Please install: $*"; exit 1; }
    say "apt-get install $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    as_root apt-get -qq update >/dev/null
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

# Debian starts a service as soon as its package is installed; mosquitto's would sit on port 1883, where `make run`
# listens. Debian's own switch for that is policy-rc.d; where an administrator has one already it is left alone.
install_without_starting() {
    policy=/usr/sbin/policy-rc.d
    ours=no
    if [ ! -e $policy ]; then
        ours=yes
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod 755 $policy
    fi
    status=0
    (install "$@") || status=$?
    if [ $ours = yes ]; then as_root rm -f $policy; fi
    return $status
}

new_enough() {
    have cargo || return 1
    version=$(cargo --version 2>/dev/null | cut -d' ' -f2)
    [ "$(printf '%s\n%s.0\n' "$version" $RUST | sort -V | head -n 1)" = "$RUST.0" ]
}

provide_build() {
    if ! have cc; then install gcc libc6-dev; fi
    # Without it neither cargo nor pip trusts the registry that it downloads from.
    if [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then install ca-certificates; fi
    if new_enough; then return; fi
    if ! have rustup; then
        have curl || install curl ca-certificates
        say "cargo $RUST or newer is not here; installing it with rustup (https://rustup.rs) for this user"
        curl -fsS --proto '=https' https://sh.rustup.rs | sh -s -- -y -q --default-toolchain none --no-modify-path
    fi
    say "rustup toolchain install $RUST"
    rustup -q toolchain install $RUST --profile minimal
    rustup -q override set $RUST
}

provide_checks() {
    cargo fmt --version >/dev/null 2>&1 || { say "rustup component add rustfmt"; rustup -q component add rustfmt; }
    cargo clippy --version >/dev/null 2>&1 || { say "rustup component add clippy"; rustup -q component add clippy; }
}

provide_clients() {
    if ! have mosquitto_sub; then install mosquitto-clients; fi
    if ! have mosquitto && [ ! -x /usr/sbin/mosquitto ]; then
        say "mosquitto is installed as a peer to compare with; its service is not started, now or at boot"
        install_without_starting mosquitto
        as_root deb-systemd-helper disable mosquitto.service >/dev/null 2>&1 || true
        as_root update-rc.d mosquitto disable >/dev/null 2>&1 || true
    fi
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then install python3 python3-venv; fi
    if ! cmp -s interop/requirements.txt .venv/requirements.txt; then
        say "pip install -r interop/requirements.txt into ./.venv"
        python3 -m venv --clear .venv
        .venv/bin/pip install -q --disable-pip-version-check -r interop/requirements.txt
        cp interop/requirements.txt .venv/requirements.txt
    fi
}

for part in "$@"; do
    case $part in
        make) have make || install make ;;
        build) provide_build ;;
        checks) provide_checks ;;
        clients) provide_clients ;;
        *) say "unknown part: $part"; exit 2 ;;
    esac
done
