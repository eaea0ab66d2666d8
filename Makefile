# SPDX-License-Identifier: Apache-2.0
#
# make demo     the whole thing on this machine, without any account: open the address it prints
# make test     everything that is checked and tested
#
# Both install what they need on Debian, given a Swift toolchain; nothing is installed that is there already.
#
# make build    the program to copy to a server: .build/release/gatehouse
# make check    the rules of the house that no compiler checks; fast, builds nothing
# make sanitize the C part over libcurl, built with sanitizers and tried over TLS; a minute and a half
# make format   writes the sources as the formatter wants them
# make bench    speed beside nginx, and what pins cost; BENCH=… names the bench script
# make clean    removes what was built

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: demo test check build bench bench-script format clean deps deps-test venv sanitize unit end-to-end

BUILD_PACKAGES := ca-certificates git libcurl4-openssl-dev libnghttp2-dev libsqlite3-dev libssl-dev libyaml-dev pkg-config
TEST_PACKAGES := chromium curl nghttp2-client nginx-light openssl python3 python3-venv systemd tinyproxy
VENV := .venv
BENCH ?= ../shared/bench/bench.py

demo: deps
	@swift build --product gatehouse
	@exec .build/debug/gatehouse demo

build: deps
	@swift build -c release --static-swift-stdlib --product gatehouse
	@ls -l .build/release/gatehouse

test: deps-test check sanitize unit end-to-end

# One build for both kinds of tests; the tests from end to end use the program it leaves in .build/debug.
unit: deps
	@swift build --build-tests
	@swift test --skip-build --disable-xctest

end-to-end: venv unit
	@$(VENV)/bin/python -m pytest Tests/EndToEnd

check:
	@python3 .ci/test_check.py --quiet
	@python3 .ci/check.py

sanitize: deps-test
	@Tests/CProviderTransport/run

format:
	@swift format --in-place --parallel -r Sources Tests Package.swift

bench: bench-script build
	@python3 "$(BENCH)" --gateway .build/release/gatehouse --protocols h1,h1-tls
	@Tests/CProviderTransport/run --bench

bench-script:
	@test -f "$(BENCH)" || { \
	    echo "make bench: there is no bench script at $(BENCH); name it: make bench BENCH=path/of/bench.py" >&2; \
	    exit 1; \
	}

deps:
	@.ci/packages $(BUILD_PACKAGES)

deps-test:
	@.ci/packages $(BUILD_PACKAGES) $(TEST_PACKAGES)

# Made anew only when the requirements have changed.
venv: deps-test $(VENV)/ready
$(VENV)/ready: Tests/EndToEnd/requirements.txt
	@python3 -m venv --clear $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

clean:
	@rm -rf .build $(VENV)
