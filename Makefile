# Aliases for people who type `make`. Flags go to the commands themselves: ./mario train --help
.PHONY: train test test-all lint ci native docs

train:
	./mario train
test:
	./mario test
test-all:
	./mario test --all
lint:
	.ci/lint
ci:
	.ci/run
native:
	cmake -S native -B build && cmake --build build && ctest --test-dir build --output-on-failure
docs:
	.venv/bin/python scripts/generate_docs.py
