# The two commands of the README are `make run` and `make test`; both need Go, make and nothing else.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
TESTSUM := gotest.tools/gotestsum@v1.13.0
FUZZ    ?= 20s
PACKAGES ?= ./...
# Tests share one compilation of all libraries (-pgo=off); `make lint` vets (-vet=off); some tests mostly wait for a
# process or a deadline (-parallel).
TESTFLAGS ?= -pgo=off -vet=off -parallel 4
FAULTS  ?= ^(TestCrashes|TestArchiveCrashes|TestFailingDevice|TestFlippedBytes|TestStructuralDamage|TestSalvageOfDamage|TestReadErrors|TestFullDiskRestarted|TestFailedWriteOnExt4|TestDamage)$$
FAULTS_TIME ?= 5m
LIGHTHOUSE ?= /
# Tag nomsgpack: without Gin's MessagePack, which nothing here speaks, the linker leaves out 6 MB.

.PHONY: help build run test platforms faults testtools growth race lint fuzz bench profile generate lighthouse pictures cover dist package clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/ledge
	CGO_ENABLED=0 $(GO) build -tags nomsgpack -trimpath -ldflags '$(LDFLAGS)' -o bin/ledge ./cmd/ledge

run: build ## run all services on 127.0.0.1, data in ./data
	./bin/ledge serve

test: build ## run every test that this machine can run, against the real binary; ends with failures, slowest, flaky and skipped tests
	@rm -f bin/test.json bin/flaky.txt
	@CGO_ENABLED=0 TEST_LEDGE_BINARY=$(CURDIR)/bin/ledge $(GO) run $(TESTSUM) --format pkgname --hide-summary=skipped --jsonfile bin/test.json \
	  --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-report=bin/flaky.txt --packages '$(PACKAGES)' -- $(TESTFLAGS) -timeout 20m; \
	  status=$$?; \
	  if [ -s bin/test.json ]; then echo "slowest tests:"; $(GO) run $(TESTSUM) tool slowest --num 10 --jsonfile bin/test.json; fi; \
	  if grep -qs '"Output":"openapi.yaml: ' bin/test.json; then echo "exchanges that the OpenAPI documents do not have:"; grep -o 'openapi.yaml: [^}]*' bin/test.json; status=1; fi; \
	  if grep -qs ', 1 failures$$' bin/flaky.txt; then echo "flaky tests, which failed and then passed alone (mend them at once):"; grep ', 1 failures$$' bin/flaky.txt; fi; \
	  .ci/testtools skipped bin/test.json; exit $$status

platforms: ## build for each platform, compile the tests for two, and run the tour on ARM under qemu
	@.ci/platforms

faults: build ## end, cut off, fill up, fail and damage a real node in every way; FAULTS_TIME bounds each row
	TEST_LEDGE_FAULTS=all TEST_LEDGE_FAULTS_TIME=$(FAULTS_TIME) TEST_LEDGE_FAULTS_TABLE=$(CURDIR)/bin/faults.txt CGO_ENABLED=0 \
	  TEST_LEDGE_BINARY=$(CURDIR)/bin/ledge $(GO) test -pgo=off -vet=off -count=1 -parallel 6 -timeout 3h -run '$(FAULTS)' ./cmd/ledgetest/faults ./cmd/ledgetest/damage

testtools: ## install what tests need beside Go, make and git; says before what and how much
	@.ci/testtools

lighthouse: build ## have Lighthouse look at the pages of the console whose path has LIGHTHOUSE; wants npm, a browser, a quiet machine and 12 minutes
	npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix bin/lighthouse lighthouse@13.5.0
	TEST_LEDGE_LIGHTHOUSE=$(LIGHTHOUSE) CGO_ENABLED=0 TEST_LEDGE_BINARY=$(CURDIR)/bin/ledge \
	  $(GO) test -pgo=off -vet=off -count=1 -v -timeout 30m -run '^TestConsoleLighthouse$$' ./cmd/ledgetest/console

pictures: build ## take the pictures of docs/reference/console.md into docs/images; wants a browser
	TEST_LEDGE_PICTURES=$(CURDIR)/docs/images CGO_ENABLED=0 TEST_LEDGE_BINARY=$(CURDIR)/bin/ledge \
	  $(GO) test -pgo=off -vet=off -count=1 -run '^TestConsolePictures$$' ./cmd/ledgetest/console

growth: build ## count the steps of requests with n, 2n and 4n parts: none may grow with the square
	TEST_LEDGE_GROWTH=1 CGO_ENABLED=0 TEST_LEDGE_BINARY=$(CURDIR)/bin/ledge $(GO) test -pgo=off -vet=off -count=1 -run '^TestWorkGrowsWithTheInput$$' ./cmd/ledgetest/attack

race: build ## run the tests with the race detector
	TEST_LEDGE_BINARY=$(CURDIR)/bin/ledge $(GO) test -pgo=off -race -timeout 60m ./...

# Lint and test compile the libraries in one way (no cgo, -pgo=off), so once. From an empty cache, go vet takes half the time and half the disk.
lint: export CGO_ENABLED = 0
lint: export GOFLAGS = -pgo=off
lint: ## vet, format and lint; count what makes text hard to read
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) run $(LINT) run --allow-parallel-runners
	$(GO) run ./cmd/internal/words

fuzz: ## run each fuzz test for FUZZ (default 20s)
	@$(GO) list ./... | while read -r p; do \
	  $(GO) test -list '^Fuzz' $$p | grep '^Fuzz' | while read -r f; do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZ) $$p || exit 1; done || exit 1; done

bench: build ## measure, as ratios within one run
	$(GO) run ./cmd/bench -ledge bin/ledge

profile: build ## record anew, from the loads of the bench, what build optimizes for
	$(GO) run ./cmd/bench -ledge bin/ledge -only http,latency -pgo cmd/ledge/default.pgo

generate: ## write the OpenAPI document of each service, and the pages of limits in docs/reference
	$(GO) generate ./handlers/openapi/merge ./cmd/internal/limits

cover: build ## write cover.html
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -html=cover.out -o cover.html

dist: ## build what is released, into dist: binaries, Debian packages, images, SPDX lists of parts, SHA-256 sums
	cd .ci/dist && $(GO) run . -version '$(VERSION)' -at $$(git log -1 --format=%ct) $(if $(ONLY),-only $(ONLY))

package: ## install, start, upgrade and remove the Debian package in an empty Debian, and run the image's program
	@.ci/package

clean: ## remove what make made; data stays
	rm -rf bin dist cover.out cover.html
