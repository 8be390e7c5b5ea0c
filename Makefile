# make report: the main job.  make test: the whole suite.  make lab: the notebooks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

MEASURED := reports/this-machine.passport.json

.PHONY: report measure sample test lint docs lowest lab doctor wheelhouse courseware clean

report: $(READY) $(MEASURED)
	$(BIN)/stackchoice report json-chat
	$(BIN)/stackchoice report this-machine

# Measured once; `make measure` does it again. A refuted prediction (status 1) is a result too.
$(MEASURED): $(READY)
	$(BIN)/stackchoice confirm this-machine || test $$? -eq 1

measure: $(READY)
	$(BIN)/stackchoice confirm this-machine || test $$? -eq 1

test: $(READY) lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

# The core under the lowest versions that pyproject.toml allows, in a folder apart.
# The published schema is written by the newest pydantic, so an older one may word it otherwise.
CORE := tests/test_public.py tests/test_docs.py tests/test_facts.py tests/test_scenario.py \
	tests/test_choose.py tests/test_sizing.py tests/test_cli.py tests/test_traffic.py \
	tests/test_importers.py tests/test_passport.py tests/test_present_text.py

lowest: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8'
	$(BIN)/python -m uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/python -m uv pip install --quiet --python .venv-lowest --resolution lowest-direct \
		--only-binary :all: --no-binary stackchoice --editable '.[notebooks,pdf,test]'
	.venv-lowest/bin/python -m pytest $(CORE) --deselect \
		tests/test_passport.py::test_the_published_schema_is_current_and_describes_what_is_written

# The committed samples: the worked case in each format, and the report notebook with its outputs.
sample: $(READY)
	$(BIN)/stackchoice report json-chat -o reports/sample.html reports/sample.json \
		reports/sample.md reports/sample.pdf
	$(BIN)/python -m stackchoice.present.sample reports/sample.ipynb

# The reference of the command line, from its own help.
docs: $(READY)
	$(BIN)/python -m typer stackchoice.cli utils docs --name stackchoice \
		--title "The command line" --output docs/cli.md

lab: $(READY)
	$(BIN)/stackchoice lab

doctor: $(READY)
	$(BIN)/stackchoice doctor

# Wheels for a workshop without internet; run it on each kind of laptop, into the same folder.
wheelhouse: $(READY)
	$(BIN)/python -m stackchoice.workshop.wheelhouse wheelhouse

# The stored outputs of the workshop's solutions.
courseware: $(READY)
	$(BIN)/python -m stackchoice.workshop.solutions

$(READY): pyproject.toml data/embedded.yaml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebooks,pdf,test]'
	$(BIN)/stackchoice setup-engine
	touch $(READY)

clean:
	rm -rf $(VENV) .venv-lowest
