PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

RIGHT_OF_THE_RECORD := tests/detect tests/explain tests/report tests/source tests/test_programs.py \
	tests/test_snapshots.py tests/test_prose.py tests/test_pipeline.py tests/test_layers.py tests/test_house.py \
	tests/test_sizes.py tests/test_private_names.py
# All tests of a program run in one worker (tests/support/by_program.py). At the end stands what ran, and the slowest.
SHARED_OUT := --dist loadscope --no-loadscope-reorder --kinds --durations=20

export OMP_NUM_THREADS ?= 1
# The suite starts thousands of interpreters; without bytecode each would compile torchwhy again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test browser test-fast coverage fuzz sanitize lint bench wheel docs clean

demo: $(STAMP)
	@# The demo is a broken program: torchwhy stops it with exit code 1, which is the success of the demo.
	@$(BIN)/torchwhy run examples/demo.py; code=$$?; test $$code -eq 1

test: lint browser
	$(BIN)/pytest -q -n 2 $(SHARED_OUT)

# Pages are tested in a real browser. Where there is none and apt cannot bring it, these tests are skipped and say so.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
		&& apt-get -qq update >/dev/null 2>&1 \
		&& apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null 2>&1; } \
		|| echo "there is no chromium: the tests of pages in a browser are skipped"

# What thinks about traces, on traces that `make test` recorded; what has no trace yet is run first.
test-fast: $(STAMP)
	$(BIN)/pytest -q --cached -n 2 $(SHARED_OUT) -m "not slow" $(RIGHT_OF_THE_RECORD)

# Lines and branches of src/ that tests reach, also in the processes that they start. Not with the guest tests: a traced
# program is not the program they compare. `make coverage COVERED="tests/detect tests/explain"` measures some tests.
COVERED ?= tests --ignore=tests/guest --ignore=tests/devices --ignore=tests/fuzz
coverage: $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt coverage
	rm -rf build/coverage
	mkdir -p build/coverage
	-$(BIN)/python -m coverage run -m pytest -q -n 2 --dist loadscope --no-loadscope-reorder $(COVERED)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --sort=cover | tee build/coverage/report.txt

# Random programs, faults put into them, kills and damaged runs, for as long as there is time (docs/explanation/how-we-test.md).
# `make fuzz PARTS=mutants SEEDS=100:140 MINUTES=30` runs one part with other seeds; MINUTES count for each part.
SEEDS ?= 1000:2000
MINUTES ?= 15
PARTS ?= pairs mutants kills tampering
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz $(PARTS) --seeds $(SEEDS) --minutes $(MINUTES)

# The tests of the accelerator, built with AddressSanitizer and UBSan in a copy of the sources; needs gcc. Python and
# torch allocate in their own ways, so leaks are looked for by the tests and not by the sanitizer.
SANITIZED := build/sanitized
SANITIZED_TESTS := tests/observe/native tests/replay/microscope/test_backward_log.py tests/replay/microscope/test_ordinary_operations.py \
	tests/guest/test_native.py \
	tests/guest/test_versions.py tests/guest/test_lifetimes.py
sanitize: $(STAMP)
	rm -rf $(SANITIZED)
	mkdir -p $(SANITIZED)
	cp -r pyproject.toml setup.py README.md LICENSE src tests $(SANITIZED)
	rm -f $(SANITIZED)/src/torchwhy/observe/native/*.so
	cd $(SANITIZED) && CFLAGS="-g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
		$(abspath $(BIN))/python setup.py --quiet build_ext --inplace
	cd $(SANITIZED) && PYTHONPATH=src LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
		$(abspath $(BIN))/pytest -q -p no:cacheprovider $(SANITIZED_TESTS)

# The sdist, and from it the pure wheel and the one for this machine. Both are tried in an empty environment without a
# compiler. Wheels for other systems are built by cibuildwheel (.github/workflows/wheels.yml).
UNPACKED := build/unpacked
wheel: $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt build twine setuptools
	rm -rf dist build/unpacked build/lib build/bdist.*
	mkdir -p $(UNPACKED)
	$(BIN)/python -m build --no-isolation --sdist --outdir dist . >build/sdist.log
	tar -xzf dist/torchwhy-*.tar.gz -C $(UNPACKED) --strip-components 1
	cd $(UNPACKED) && TORCHWHY_NATIVE=none $(abspath $(BIN))/python -m build --no-isolation --wheel \
		--outdir $(abspath dist) . >$(abspath build)/pure-wheel.log
	rm -rf $(UNPACKED)/build
	cd $(UNPACKED) && TORCHWHY_NATIVE=required $(abspath $(BIN))/python -m build --no-isolation --wheel \
		--outdir $(abspath dist) . >$(abspath build)/native-wheel.log
	$(BIN)/python -m twine check --strict dist/*
	ls -l dist
	$(BIN)/python -m tests.support.try_wheel dist/*.whl

# The docs site in build/site: `python3 -m http.server -d build/site`. The programs of the tutorials run for it. Their
# reports, the links and the absence of requests to other servers are checked; the browser tests are in tests/docs.
docs: $(VENV)/installed-docs
	$(BIN)/python -m tools.docs build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file build/docs/mkdocs.yml
	$(BIN)/python -m tools.docs.built_site build/site

$(VENV)/installed-docs: $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n 2

bench: $(STAMP)
	@# Half an hour on an idle machine; the tables are kept in docs/explanation/cost.md. Transformers is a rival in them.
	$(BIN)/python -m pip install --quiet -c constraints.txt 'transformers<5'
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/first.py
	$(BIN)/python benchmarks/inside.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/whole.py

$(STAMP): pyproject.toml setup.py constraints.txt $(wildcard src/torchwhy/observe/native/*.[ch] src/torchwhy/observe/native/*/*.c)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]' torch==2.13.0 numpy
	@# As pip does for a package that is not editable: start-up takes twice as long without bytecode.
	$(BIN)/python -m compileall -q src
	touch $@

clean:
	rm -rf $(VENV) .torchwhy build dist
