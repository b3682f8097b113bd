#!/bin/sh
# Builds and installs the package into .venv, and checks it: lints, types, tests. Needs Python 3.11 or newer, for the LangChain in
# requirements.txt; PYTHON names another one than python3.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
# Without pip: Debian's Python cannot install one, but its own installs elsewhere as well.
[ -x .venv/bin/python ] || "$python" -m venv --without-pip .venv
pip() { "$python" -m pip --disable-pip-version-check --python .venv/bin/python "$@"; }
pip install --quiet --root-user-action ignore --requirement requirements.txt
# Always anew, since a version that is installed already would be left as it is.
pip install --quiet --root-user-action ignore --no-build-isolation --no-deps --force-reinstall .
pip check
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .
.venv/bin/mypy
.venv/bin/pytest --quiet "$@"
