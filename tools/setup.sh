#!/bin/sh
# Makes .venv ready for the course: every make target calls this first. When nothing has changed since the last time it
# ends at once; after an interrupted setup it starts afresh. What pip is told by the environment (PIP_INDEX_URL,
# PIP_EXTRA_INDEX_URL, PIP_CERT, ...) holds here too. PYTHON chooses another Python than python3.
#   sh tools/setup.sh [EXTRA]    an extra of pyproject.toml: dev without it; slow also has what `make test-slow` needs
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
extra=${1:-dev}
ready=.venv/.ready-$extra
unfinished=.venv/.unfinished

stop() {
    printf '\n' >&2
    printf '%s\n' "$@" >&2
    exit 1
}

# The folder counts too: an environment does not survive being moved.
wanted="$(cat pyproject.toml constraints.txt | cksum) $(pwd)"
if [ -f "$ready" ] && [ "$(cat "$ready")" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

case $(uname -s) in
Linux) ;;
Darwin)
    stop "This course needs Linux: there is no Triton for macOS." \
        "Open it in Google Colab, in a Linux container (for example Docker with the image python:3.11) or in a Linux VM." ;;
*)
    stop "This course needs Linux. On Windows, install WSL2 with \`wsl --install\` in a terminal, restart, open Ubuntu" \
        "from the start menu, clone the course there and run make again." ;;
esac

command -v "$python" >/dev/null 2>&1 || stop \
    "$python was not found." \
    "Debian, Ubuntu:  sudo apt install python3 python3-venv" \
    "Fedora:          sudo dnf install python3"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || stop \
    "$python does not run. Try \`$python --version\`, or name another: make lab PYTHON=python3.11"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop \
    "$python is Python $version, and the course needs 3.11 or later." \
    "Debian, Ubuntu:  sudo apt install python3.11 python3.11-venv  (or a later one that your system has)" \
    "then:            make lab PYTHON=python3.11"
"$python" -c 'import ensurepip, venv' 2>/dev/null || stop \
    "$python cannot make virtual environments: its venv module is not installed." \
    "Debian, Ubuntu:  sudo apt install python$version-venv"

if [ -e "$unfinished" ] || { [ -d .venv ] && ! .venv/bin/python -c '' 2>/dev/null; }; then
    echo "The last setup was not finished, or its Python is gone: starting afresh."
    rm -rf .venv
fi
echo "Setting up .venv with Python $version. The first time takes some minutes and a few gigabytes."
mkdir -p .venv
touch "$unfinished"
rm -f "$ready"
[ -x .venv/bin/pip ] || "$python" -m venv .venv || stop "$python could not make .venv; see above."
PIP_USER=0 .venv/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e ".[$extra]" || stop \
    "pip could not install the course; see above. Often it is one of these:" \
    "- no connection, or a proxy: set HTTPS_PROXY, or PIP_INDEX_URL for a mirror, and run make again" \
    "- no space left: torch's build for GPUs takes several GB; without a GPU, take the small one:" \
    "  PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make lab" \
    "- Python $version is too new, or this processor or C library has no build of torch or triton:" \
    "  make lab PYTHON=python3.11, on 64-bit x86 or ARM and a Linux with glibc (not Alpine)"
printf '%s' "$wanted" >"$ready"
rm -f "$unfinished"
