# SPDX-License-Identifier: Apache-2.0
#
# make demo     the whole thing on this machine, without any account: open the address it prints
# make test     everything that is checked and tested
# make test-release  the end-to-end tests against the program of `make build`
#
# Both install what they need on Debian, given a Swift toolchain; nothing is installed that is there already.
#
# make build    the program to copy to a server: .build/release/gatehouse
# make check    the rules that no compiler checks; fast, builds nothing
# make sanitize the C part over libcurl, built with sanitizers and tested over TLS; a minute and a half
# make format   writes the sources as the formatter wants them
# make test-fleet  the end-to-end tests of flows with several requests, with two gateways behind a balancer that picks at random, on each
#               kind of Redis; about 15 minutes
# make test-apps real apps and their clients through the gateway; about 18 minutes, APPS_OPTIONS='-k git' for some
# make deb      the Debian package of `make build`; `make image` the container image; `make packages` both, with a bill of
#               materials and checksums, in .build/packages
# make test-packages  the package and the image in clean roots of Debian; as root, about 8 minutes
# make bench    speed beside nginx, into docs/performance.md, and what pins cost; BENCH_OPTIONS=--quick for a short one
# make soak     an hour of mixed traffic, every response checked; SOAK_OPTIONS='--minutes 5' for less
# make fuzz     ten minutes of hostile bytes for whatever reads them; MINUTES=60 for more, FUZZ_OPTIONS=--keep to keep finds
# make gallery  pictures of each page that users see, into .build/gallery
# make pictures the two pictures of the README, taken from the running demo
# make clean    removes what was built

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: demo test test-release check build bench soak fuzz format gallery pictures clean deps deps-test deps-bench venv \
	sanitize unit end-to-end test-fleet test-apps deps-apps venv-apps deb image packages test-packages deps-packages venv-packages

BUILD_PACKAGES := ca-certificates git libargon2-dev libcurl4-openssl-dev libnghttp2-dev libsqlite3-dev libssl-dev libyaml-dev pkg-config zlib1g-dev
TEST_PACKAGES := apache2-bin chromium curl glewlwyd golang-go haproxy libapache2-mod-auth-openidc libapache2-mod-wsgi-py3 libnss3-tools logrotate nghttp2-client nginx-light nodejs \
	openssl prometheus python3 python3-venv redis-server rsyslog ruby sqlite3 systemd tinyproxy
# Apps and clients for `make test-apps`; their services are installed but not started.
APPS_PACKAGES := apache2-bin cadaver chromium cups-daemon curl docker-registry git libapache2-mod-svn litmus mercurial \
	netdata-core openssl prometheus python3 python3-venv rabbitmq-server skopeo subversion transmission-daemon
PACKAGING_PACKAGES := debhelper
PACKAGING_TEST_PACKAGES := crun curl fish glewlwyd iproute2 lintian mandoc mmdebstrap podman podman-compose python3 python3-venv \
	skopeo umoci yamllint zsh
BENCH_PACKAGES := hey nghttp2-client nginx-light openssl python3 util-linux wrk
VENV := .venv
APPS_VENV := .venv-apps
PACKAGES_VENV := .venv-packages
BENCH_OPTIONS ?= --write docs/performance.md
SOAK_OPTIONS ?= --minutes 60
MINUTES ?= 10
UNIT_SECONDS ?= 600
# Set for the whole run of the unit tests, which shows that no call to a provider asks the proxy of the environment.
PROXIES := http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY

demo: deps
	@swift build --product gatehouse
	@swift build --product gatehouse-demo
	@exec .build/debug/gatehouse demo

# The optimizations that Package.swift sets for our modules, for the packages as well: ByteBuffer is on the hot path.
# All symbols are bound at the start, after which their table is read-only. The program has no path of this folder.
RELEASE_BUILD := swift build -c release --static-swift-stdlib -Xlinker -z -Xlinker now \
	-Xswiftc -cross-module-optimization -Xswiftc -Xfrontend -Xswiftc -enable-cmo-everything \
	-Xswiftc -enforce-exclusivity=unchecked \
	-Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. -Xcc -ffile-prefix-map=$(CURDIR)=. -Xcxx -ffile-prefix-map=$(CURDIR)=.

build: deps
	@$(RELEASE_BUILD) --product gatehouse
	@ls -l .build/release/gatehouse

test: deps-test check sanitize venv unit
	$(END_TO_END)

# One build for both kinds of tests; the end-to-end tests use the program in .build/debug.
tests-built: deps
	@swift build --build-tests

# Swift Testing has no default time limit for a test, so the run as a whole has one.
unit: tests-built
	@env $(PROXIES:%=%=http://127.0.0.1:9) .ci/time_limit.py $(UNIT_SECONDS) swift test --skip-build --disable-xctest

# Most files run beside others, since they wait more than they work; of those that load the machine, two at a time.
define END_TO_END
@$(VENV)/bin/python -m pytest Tests/EndToEnd -n 3 --dist loadfile --no-loadscope-reorder -m "not loading"
@$(VENV)/bin/python -m pytest Tests/EndToEnd -n 2 --dist loadfile --no-loadscope-reorder -m loading
@$(VENV)/bin/python -m pytest Tests/EndToEnd/test_return_path.py Tests/EndToEnd/test_hosts.py --fleet=single -k "b_01 or g_01 or hosts"
endef

end-to-end: venv tests-built
	$(END_TO_END)

# The files of flows with several requests: attempts, session transfers, consent, devices, pushed requests, passkeys, links in mails,
# connected accounts, re-checks and sign-outs.
FLOWS := account_mail callback client_grants client_keys clients connected_accounts form_post hosts local_accounts native_client \
	open_clients passkeys recheck return_path scopes sign_out two_providers
FLEETS ?= single sentinel cluster

test-fleet: venv tests-built
	@for fleet in $(FLEETS); do \
	    $(VENV)/bin/python -m pytest $(FLOWS:%=Tests/EndToEnd/test_%.py) --fleet=$$fleet -n 2 --dist loadfile; \
	done

test-release: export GATEHOUSE_PROGRAM := .build/release/gatehouse
test-release: venv build
	@$(RELEASE_BUILD) --product gatehouse-demo
	$(END_TO_END)

test-apps: venv-apps deps
	@swift build --product gatehouse
	@$(APPS_VENV)/bin/python -m pytest Tests/Apps $(APPS_OPTIONS)

deb: build deps-packages
	@deploy/build/deb.py

image: build deps-packages
	@deploy/build/image.py

# Nothing of an earlier version is left, so that the checksums are of one.
packages: build deps-packages
	@rm -rf .build/packages
	@deploy/build/deb.py
	@deploy/build/image.py
	@deploy/build/sbom.py

test-packages: build venv-packages
	@$(PACKAGES_VENV)/bin/python -m pytest Tests/Packages $(PACKAGES_OPTIONS)

check:
	@python3 .ci/test_check.py --quiet
	@python3 .ci/test_time_limit.py --quiet
	@python3 .ci/test_attack_ids.py --quiet
	@python3 Tests/Bench/test_bench.py --quiet
	@python3 .ci/check.py
	@python3 .ci/structure.py --check > /dev/null
	@python3 .ci/dead.py
	@python3 .ci/language.py
	@python3 .ci/attack_ids.py

sanitize: deps-test
	@Tests/CProviderTransport/run

format:
	@swift format --in-place --parallel -r Sources Tests Package.swift

bench: deps-bench build
	@python3 Tests/Bench/bench.py $(BENCH_OPTIONS)
	@Tests/CProviderTransport/run --bench

soak: deps-bench venv build
	@$(VENV)/bin/python Tests/Bench/soak.py $(SOAK_OPTIONS)

fuzz: deps
	@Tests/Fuzz/run --minutes $(MINUTES) $(FUZZ_OPTIONS)

deps:
	@.ci/packages $(BUILD_PACKAGES)

deps-test:
	@NO_SERVICES=1 .ci/packages $(BUILD_PACKAGES) $(TEST_PACKAGES)

deps-bench:
	@.ci/packages $(BUILD_PACKAGES) $(BENCH_PACKAGES)

deps-apps:
	@NO_SERVICES=1 .ci/packages $(APPS_PACKAGES)

deps-packages:
	@.ci/packages $(BUILD_PACKAGES) $(PACKAGING_PACKAGES)

# Made again only when the requirements have changed.
venv: deps-test $(VENV)/ready
$(VENV)/ready: Tests/EndToEnd/requirements.txt
	@python3 -m venv --clear $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

venv-apps: deps-apps $(APPS_VENV)/ready
$(APPS_VENV)/ready: Tests/Apps/requirements.txt Tests/Apps/requirements-pgadmin.txt
	@python3 -m venv --clear $(APPS_VENV)
	@$(APPS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@python3 -m venv $(APPS_VENV)/pgadmin
	@$(APPS_VENV)/pgadmin/bin/python -m pip install --quiet --disable-pip-version-check -r Tests/Apps/requirements-pgadmin.txt
	@touch $@

venv-packages: $(PACKAGES_VENV)/ready
	@NO_SERVICES=1 .ci/packages $(BUILD_PACKAGES) $(PACKAGING_PACKAGES) $(PACKAGING_TEST_PACKAGES)
$(PACKAGES_VENV)/ready: Tests/Packages/requirements.txt
	@NO_SERVICES=1 .ci/packages $(BUILD_PACKAGES) $(PACKAGING_TEST_PACKAGES)
	@python3 -m venv --clear $(PACKAGES_VENV)
	@$(PACKAGES_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

gallery: venv deps
	@swift build --product gatehouse
	@$(VENV)/bin/python Tests/Gallery/gallery.py

pictures: venv deps
	@swift build
	@$(VENV)/bin/python docs/pictures/make.py

clean:
	@rm -rf .build $(VENV) $(APPS_VENV) $(PACKAGES_VENV)
