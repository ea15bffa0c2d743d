package api

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
	"ledge/cmd/ledgetest"
)

// callIf is call with If-Match, for any goroutine.
func callIf(p *ledgetest.Node, match, method, url, body string) ledgetest.Answer {
	p.TB.Helper()
	req, err := http.NewRequestWithContext(p.TB.Context(), method, url, strings.NewReader(body))
	if err != nil {
		p.TB.Error(err)
		return ledgetest.Answer{}
	}
	req.Header.Set("If-Match", match)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.TB.Errorf("%s %s: %v", method, url, err)
		return ledgetest.Answer{}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.TB.Errorf("%s %s: %v", method, url, err)
	}
	return ledgetest.Answer{Status: resp.StatusCode, Body: string(b), Header: resp.Header}
}

// labelled is a patch that gives a device a label.
func labelled(name, label string) string {
	return fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":%q,"labels":[%q]}}]`, name, label)
}

// etags are those of one entity of each kind, by path. No two of them are the same: all are on one stream.
func etags(p *ledgetest.Node) map[string]string {
	p.TB.Helper()
	all, paths := map[string]string{}, map[string]string{}
	for _, url := range []string{
		p.Metadata + "/api/v2/device/name/cam-1", p.Metadata + "/api/v2/deviceprofile/name/sample-image",
		p.Metadata + "/api/v2/deviceservice/name/device-rest", p.Metadata + "/api/v2/provisionwatcher/name/finder",
		p.Notifications + "/api/v2/subscription/name/watch",
	} {
		a := p.Call(http.MethodGet, url, "", "")
		path, etag := url[strings.Index(url, "/api"):], a.Header.Get("ETag")
		if n, err := strconv.Unquote(etag); a.Status != http.StatusOK || err != nil || n == "" || paths[etag] != "" {
			p.TB.Errorf("%s: got %d with ETag %s; %q has the same", path, a.Status, etag, paths[etag])
		}
		all[path], paths[etag] = etag, path
	}
	return all
}

// An ETag outlives restarts, crashes and rebuilds, and a name never gets one back.
func TestETagsOutliveRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"finder",
		"identifiers":{"address":"x"},"serviceName":"device-rest","profileName":"sample-image","adminState":"UNLOCKED"}}]`, http.StatusCreated)
	addSubscription(p, "watch", porttest.Hold(t), "cam", "")
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", labelled("cam-1", "a"), http.StatusOK)
	want := etags(p)
	for _, end := range []func(){
		p.Kill, func() { p.Stop() }, func() {
			p.Stop()
			if _, stderr, code := ledgetest.Run(t, "rebuild", "--data-dir", dir); code != exit.OK {
				t.Fatalf("rebuild: %d %s", code, stderr)
			}
		},
	} {
		end()
		p = ledgetest.Start(t, dir)
		if got := etags(p); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	name := p.Metadata + "/api/v2/device/name/cam-1"
	seen := p.Call(http.MethodGet, name, "", "").Header.Get("ETag")
	if a := callIf(p, seen, http.MethodDelete, name, ""); a.Status != http.StatusOK {
		t.Fatalf("delete of what was read: %d %s", a.Status, a.Body)
	}
	p.AddDevice("cam-1")
	if a := callIf(p, seen, http.MethodPatch, p.Metadata+"/api/v2/device", labelled("cam-1", "b")); a.Status != http.StatusPreconditionFailed {
		t.Errorf("patch of what was removed and added again: got %d %s, want 412", a.Status, a.Body)
	}
}

// Of clients that change what all have read, one wins, and what it wrote stays.
func TestRacingPatches(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("cam-1")
	url := p.Metadata + "/api/v2/device"
	for round := range 10 {
		etag := p.Call(http.MethodGet, url+"/name/cam-1", "", "").Header.Get("ETag")
		var clients sync.WaitGroup
		answers := make([]ledgetest.Answer, 12)
		for i := range answers {
			clients.Go(func() {
				answers[i] = callIf(p, etag, http.MethodPatch, url, labelled("cam-1", fmt.Sprintf("round-%d-%d", round, i)))
			})
		}
		clients.Wait()
		won := -1
		for i, a := range answers {
			switch {
			case a.Status == http.StatusMultiStatus && strings.Contains(a.Body, `"statusCode":200`) && won < 0:
				won = i
			case a.Status != http.StatusPreconditionFailed:
				t.Errorf("round %d: got %d %s beside what %d has won, want 412", round, a.Status, a.Body, won)
			}
		}
		now := p.Call(http.MethodGet, url+"/name/cam-1", "", "")
		if won < 0 || now.Header.Get("ETag") != answers[won].Header.Get("ETag") || !strings.Contains(now.Body, fmt.Sprintf(`"round-%d-%d"`, round, won)) {
			t.Fatalf("round %d: %d has won, and now it is %s", round, won, now.Body)
		}
	}
}

// TestETagDocument types the commands of docs/reference/etags.md on a server that nobody has used.
func TestETagDocument(t *testing.T) {
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(ledgetest.MustRead(t, "../../../docs/reference/etags.md"), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 5 {
		t.Fatalf("docs/reference/etags.md has %d blocks, want 5", len(blocks))
	}
	sh := ledgetest.NewShell(ledgetest.StartSeed(t), t)
	for i, want := range []string{"Etag: \"5\"\r\n", "device.added/1  device sample-image added", "Etag: \"10\"\r\n", "error: 412", "304\n"} {
		out, err := sh.Command(blocks[i]).CombinedOutput()
		failed, _ := errors.AsType[*exec.ExitError](err)
		if !strings.Contains(string(out), want) || (err != nil) != (failed != nil && want == "error: 412") {
			t.Errorf("%s%v\n%s\nwant %q", blocks[i], err, out, want)
		}
	}
}
