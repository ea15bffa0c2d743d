package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
)

// callIf is call with If-Match, for any goroutine.
func (p *process) callIf(match, method, url, body string) answer {
	p.tb.Helper()
	req, err := http.NewRequestWithContext(p.tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		p.tb.Error(err)
		return answer{}
	}
	req.Header.Set("If-Match", match)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.tb.Errorf("%s %s: %v", method, url, err)
		return answer{}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.tb.Errorf("%s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, string(b), resp.Header}
}

// labelled is a patch that gives a device a label.
func labelled(name, label string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":%q,"labels":[%q]}}]`, name, label)
}

// etags are those of one entity of each kind, by path. No two of them are the same: all are on one stream.
func (p *process) etags() map[string]string {
	p.tb.Helper()
	all, paths := map[string]string{}, map[string]string{}
	for _, url := range []string{
		p.metadata + "/api/v2/device/name/cam-1", p.metadata + "/api/v2/deviceprofile/name/sample-image",
		p.metadata + "/api/v2/deviceservice/name/device-rest", p.metadata + "/api/v2/provisionwatcher/name/finder",
		p.notifications + "/api/v2/subscription/name/watch",
	} {
		a := p.call(http.MethodGet, url, "", "")
		path, etag := url[strings.Index(url, "/api"):], a.header.Get("ETag")
		if n, err := strconv.Unquote(etag); a.status != http.StatusOK || err != nil || n == "" || paths[etag] != "" {
			p.tb.Errorf("%s: got %d with ETag %s; %q has the same", path, a.status, etag, paths[etag])
		}
		all[path], paths[etag] = etag, path
	}
	return all
}

// An ETag outlives restarts, crashes and rebuilds, and a name never gets one back.
func TestETagsOutliveRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	p.addDevice("cam-1")
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"finder",
		"identifiers":{"address":"x"},"serviceName":"device-rest","profileName":"sample-image","adminState":"UNLOCKED"}}]`, http.StatusCreated)
	p.addSubscription("watch", porttest.Hold(t), "cam", "")
	p.postJSON(http.MethodPatch, p.metadata+"/api/v2/device", labelled("cam-1", "a"), http.StatusOK)
	want := p.etags()
	for _, end := range []func(){
		p.kill, func() { p.stop() }, func() {
			p.stop()
			if _, stderr, code := ledge(t, "rebuild", "--data-dir", dir); code != exit.OK {
				t.Fatalf("rebuild: %d %s", code, stderr)
			}
		},
	} {
		end()
		p = start(t, dir)
		if got := p.etags(); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	name := p.metadata + "/api/v2/device/name/cam-1"
	seen := p.call(http.MethodGet, name, "", "").header.Get("ETag")
	if a := p.callIf(seen, http.MethodDelete, name, ""); a.status != http.StatusOK {
		t.Fatalf("delete of what was read: %d %s", a.status, a.body)
	}
	p.addDevice("cam-1")
	if a := p.callIf(seen, http.MethodPatch, p.metadata+"/api/v2/device", labelled("cam-1", "b")); a.status != http.StatusPreconditionFailed {
		t.Errorf("patch of what was removed and added again: got %d %s, want 412", a.status, a.body)
	}
}

// Of clients that change what all have read, one wins, and what it wrote stays.
func TestRacingPatches(t *testing.T) {
	p := start(t, t.TempDir())
	p.addDevice("cam-1")
	url := p.metadata + "/api/v2/device"
	for round := range 10 {
		etag := p.call(http.MethodGet, url+"/name/cam-1", "", "").header.Get("ETag")
		var clients sync.WaitGroup
		answers := make([]answer, 12)
		for i := range answers {
			clients.Go(func() {
				answers[i] = p.callIf(etag, http.MethodPatch, url, labelled("cam-1", fmt.Sprintf("round-%d-%d", round, i)))
			})
		}
		clients.Wait()
		won := -1
		for i, a := range answers {
			switch {
			case a.status == http.StatusMultiStatus && strings.Contains(a.body, `"statusCode":200`) && won < 0:
				won = i
			case a.status != http.StatusPreconditionFailed:
				t.Errorf("round %d: got %d %s beside what %d has won, want 412", round, a.status, a.body, won)
			}
		}
		now := p.call(http.MethodGet, url+"/name/cam-1", "", "")
		if won < 0 || now.header.Get("ETag") != answers[won].header.Get("ETag") || !strings.Contains(now.body, fmt.Sprintf(`"round-%d-%d"`, round, won)) {
			t.Fatalf("round %d: %d has won, and now it is %s", round, won, now.body)
		}
	}
}

// TestETagDocument types the commands of docs/reference/etags.md on a server that nobody has used.
func TestETagDocument(t *testing.T) {
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(mustRead(t, "../../docs/reference/etags.md"), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 5 {
		t.Fatalf("docs/reference/etags.md has %d blocks, want 5", len(blocks))
	}
	sh := startSeed(t).shell(t)
	for i, want := range []string{"Etag: \"5\"\r\n", "device.added/1  device sample-image added", "Etag: \"10\"\r\n", "error: 412", "304\n"} {
		out, err := sh.command(blocks[i]).CombinedOutput()
		failed, _ := errors.AsType[*exec.ExitError](err)
		if !strings.Contains(string(out), want) || (err != nil) != (failed != nil && want == "error: 412") {
			t.Errorf("%s%v\n%s\nwant %q", blocks[i], err, out, want)
		}
	}
}
