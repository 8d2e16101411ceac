# From Warps to Tiles. Each target sets up .venv by itself (tools/setup.sh); later runs start at once.
#   PYTHON=python3.12    the Python that makes .venv
#   LAB_ARGS=…           options for JupyterLab, such as --no-browser --port=9999
#   LESSON=03_…          what to build: one lesson (all without it)
#   MATRIX="3.6 3.8"     which versions of Triton test-matrix takes (all without it)

PYTHON ?= python3
PY := .venv/bin/python
export PYTHON
export JUPYTER_PREFER_ENV_PATH := 1

ALLOW_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
START := notebooks/00_start_here.ipynb

.PHONY: help setup lab test test-slow test-matrix scoreboard build check book

help:
	@echo "make lab          open the course in JupyterLab (options: LAB_ARGS=…)"
	@echo "make test         run the tests, and compare every lesson's outputs"
	@echo "make test-slow    run the tests that take minutes, which make test leaves out"
	@echo "make test-matrix  run the checker's tests with each supported Triton (some of them: MATRIX=\"3.6 3.8\")"
	@echo "make scoreboard   judge all wrong and right answers that the tests know, and put the scores into README.md"
	@echo "make build        build notebooks/, exercises/, solutions/ and INDEX.md (one lesson: LESSON=03_programs_and_grids)"
	@echo "make check        lint, types, and whether everything is in step and complete"
	@echo "make book         render everything as plain web pages in book/"

setup:
	@sh tools/setup.sh

# Terminals and kernels in JupyterLab find `course` and `python` of .venv first.
lab: export PATH := $(CURDIR)/.venv/bin:$(PATH)
lab: setup
	@$(PY) -m nbformat.sign notebooks/*.ipynb >/dev/null 2>&1 || echo "(The notebooks could not be marked as trusted.)"
	$(PY) -m jupyterlab $(ALLOW_ROOT) --ServerApp.root_dir="$(CURDIR)" \
		--FileContentsManager.pre_save_hook=tools.lab.keep_python_version --LabApp.default_url=/lab/tree/$(START) $(LAB_ARGS)

# A notebook's cells depend on each other, so a file is never split over workers.
test: setup
	$(PY) -m pytest -n 2 $(TEST_ARGS)
	$(PY) -m pytest --nbval -n 2 --dist loadfile notebooks

test-slow:
	@sh tools/setup.sh slow
	$(PY) -m pytest -m slow -n 2 --dist loadgroup $(TEST_ARGS)

test-matrix: setup
	$(PY) -m tools.test_matrix $(MATRIX)

scoreboard: setup
	$(PY) -m tools.scoreboard $(SCOREBOARD_ARGS)

build: setup
	$(PY) -m tools.build $(LESSON) $(BUILD_ARGS)

check: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m tools.build --check
	$(PY) -m tools.lint_course $(LINT_ARGS)

book: setup
	$(PY) -m tools.book
