package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
)

// lists are the lists that show large values, and what has them in CBOR.
func (p *process) listings() []string {
	return []string{p.coreData + "/api/v2/event/all", p.coreData + "/api/v2/reading/all"}
}

// mustNotGet holds that something cannot be read: it is a 500, or breaks off.
func (p *process) mustNotGet(what, url string, header ...string) {
	p.tb.Helper()
	if a, err := tryCall(http.MethodGet, url, "", "", header...); err == nil && a.status != http.StatusInternalServerError {
		p.tb.Errorf("%s: GET %s %v: got %d with %d bytes, want 500 or a broken connection", what, url, header, a.status, len(a.body))
	}
}

// largeValues posts an image, an image in gzip, a large object and a text, all of which are files, and returns their readings.
func (p *process) largeValues() (readings []string) {
	p.tb.Helper()
	image := strings.Repeat("\xff\xd8picture", 50_000)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("gzip" + image)); err != nil {
		p.tb.Fatal(err)
	}
	w.Close()
	for _, post := range []struct{ resource, kind, body, coding string }{
		{"sample-image/jpeg", "image/jpeg", image, "identity"},
		{"sample-image/jpeg", "image/jpeg", packed.String(), "gzip"},
		{"sample-json/json", "application/json", `{"v":"` + strings.Repeat("text ", 80_000) + `"}`, "identity"},
	} {
		a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/"+post.resource, post.kind, post.body, "Content-Encoding", post.coding)
		if a.status != http.StatusOK {
			p.tb.Fatalf("post to %s: %d %s", post.resource, a.status, a.body)
		}
	}
	a := p.call(http.MethodGet, p.coreData+"/api/v2/reading/all", "", "")
	for _, part := range strings.Split(a.body, `{"id":"`)[1:] {
		readings = append(readings, part[:36])
	}
	if files := p.payloads(); len(readings) != 3 || len(files) != 3 {
		p.tb.Fatalf("readings %v in %v", readings, files)
	}
	return readings
}

// TestDamagedPayloads alters one byte of each file, at its beginning, in its middle or at its end: no read of it succeeds,
// neither of the value, whole or in part, nor of lists in JSON and CBOR. What is missing is an error that names the file.
func TestDamagedPayloads(t *testing.T) {
	p := start(t, t.TempDir())
	readings := p.largeValues()
	all := append([]string{"Range", "bytes=70000-70009"}, "Range", "bytes=-1")
	for i, path := range p.payloads() {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := []int{0, len(b) / 2, len(b) - 1}[i]
		altered := bytes.Clone(b)
		altered[at] ^= 1
		if err := os.WriteFile(path, altered, 0o600); err != nil {
			t.Fatal(err)
		}
		broken := 0
		for _, id := range readings {
			url := p.coreData + "/api/v2/reading/id/" + id + "/binary"
			if a, err := tryCall(http.MethodGet, url, "", ""); err == nil && a.status == http.StatusOK && a.body != string(altered) {
				continue // it is another file's
			}
			broken++
			p.mustNotGet("altered", url)
			for n := 0; n < len(all); n += 2 {
				p.mustNotGet("altered", url, all[n], all[n+1])
			}
		}
		if broken != 1 {
			t.Errorf("%d values cannot be read with byte %d of %s altered", broken, at, path)
		}
		for _, list := range p.listings() {
			p.mustNotGet("altered", list)
			p.mustNotGet("altered", list, "Accept", "application/cbor")
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, list := range p.listings() {
			if a := p.call(http.MethodGet, list, "", ""); a.status != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(a.body), "]}") {
				t.Errorf("whole again: %d", a.status)
			}
		}
	}
	p.waitLog(`is damaged: `)
	if a := p.call(http.MethodGet, p.coreData+"/metrics", "", ""); !strings.Contains(a.body, "\nledge_payload_damaged_reads_total ") || strings.Contains(a.body, "\nledge_payload_damaged_reads_total 0\n") {
		t.Error("the metrics do not count it")
	}
	gone := p.payloads()[0]
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, id := range readings {
		if a := p.call(http.MethodGet, p.coreData+"/api/v2/reading/id/"+id+"/binary", "", ""); a.status == http.StatusInternalServerError && strings.Contains(a.body, filepath.Base(gone)) {
			named++
		}
	}
	if named != 1 {
		t.Errorf("%d answers name %s, want 1", named, gone)
	}
	for _, list := range p.listings() {
		p.mustNotGet("missing", list)
	}
	if code := p.stop(); code != exit.OK {
		t.Error(fmt.Sprint("exit code ", code))
	}
}
