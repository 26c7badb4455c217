#!/usr/bin/env bash
# Tests the Python module. Checks the format of its Rust code and lints it, and builds the wheel and the source
# distribution. Installs each in a fresh virtual environment and runs the tests there. The wheel is also tested with
# mypy, valgrind and the notebook.
#
#   scripts/python.sh [--wheel]
#
# --wheel leaves out the source distribution, which compiles everything a second time. Requires Rust, Python 3.11 or later
# (named by PYTHON, by default python3), and a package index that pip can reach.
set -euo pipefail
cd "$(dirname "$0")/../srlg-python"

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "$python is too old: install Python 3.11 or later, or name it with PYTHON" >&2
    exit 1
}
kinds=(wheel sdist)
[ "${1:-}" != --wheel ] || kinds=(wheel)

cargo fmt --check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet 'maturin>=1.16,<2'
# The source distribution is compiled elsewhere. It shares this target folder, so that the dependencies are built once.
export PYO3_PYTHON="$work/build/bin/python" CARGO_TARGET_DIR="$PWD/target"
cargo clippy --locked --all-targets -- -D warnings
"$work/build/bin/maturin" build --quiet --release --locked --out "$work/dist"
"$work/build/bin/maturin" sdist --out "$work/dist"

# Installs the distribution $2 of the kind $1 in a fresh virtual environment with the test packages, and runs the tests.
check() {
    local kind=$1 file=$2 bin="$work/$1/bin"
    echo "== $kind: $(basename "$file")"
    "$python" -m venv "$work/$kind"
    "$bin/pip" install --quiet "$file"
    # This import comes before the test packages are installed, to check that the module needs no other package.
    "$bin/python" -c 'import srlg; srlg.Detector(device="cpu").close_slice()'
    "$bin/pip" install --quiet 'pip>=25.1'
    "$bin/pip" install --quiet --group test
    "$bin/python" -m pytest -q
}

for kind in "${kinds[@]}"; do
    case $kind in
        wheel) check wheel "$work"/dist/*.whl ;;
        sdist) check sdist "$work"/dist/*.tar.gz ;;
    esac
done
"$work/wheel/bin/mypy"
# In the wheel, the module is a package with the library srlg.srlg, which has no stub of its own.
"$work/wheel/bin/python" -m mypy.stubtest srlg --allowlist <(echo srlg.srlg)

if command -v valgrind >/dev/null; then
    PYTHONMALLOC=malloc valgrind --quiet --error-exitcode=1 --suppressions=tests/interpreter.supp "$work/wheel/bin/python" tests/memory.py
else
    echo "skipped: valgrind is missing"
fi
"$work/wheel/bin/pip" install --quiet --group notebook
"$work/wheel/bin/jupyter" execute ../docs/notebook/srlg.ipynb
[ -n "${SRLG_DATA-}" ] || echo "skipped: the capture in the notebook: recorded traffic is missing; set SRLG_DATA to its folder"

[ "${#kinds[@]}" = 2 ] || echo "skipped: the source distribution"
"$python" -c 'import sysconfig; sysconfig.get_config_var("Py_GIL_DISABLED") or print("skipped: free-threaded Python")'
