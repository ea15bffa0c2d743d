package damage

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
	"ledge/cmd/ledgetest"
)

// listings are the lists that show large values; their CBOR form has the values.
func listings(p *ledgetest.Node) []string {
	return []string{p.CoreData + "/api/v2/event/all", p.CoreData + "/api/v2/reading/all"}
}

// mustNotGet holds that something cannot be read: it is a 500, or breaks off.
func mustNotGet(p *ledgetest.Node, what, url string, header ...string) {
	p.TB.Helper()
	if a, err := ledgetest.TryCall(http.MethodGet, url, "", "", header...); err == nil && a.Status != http.StatusInternalServerError {
		p.TB.Errorf("%s: GET %s %v: got %d with %d bytes, want 500 or a broken connection", what, url, header, a.Status, len(a.Body))
	}
}

// largeValues posts an image, an image in gzip, a large object and a text, all of which are files, and returns their readings.
func largeValues(p *ledgetest.Node) (readings []string) {
	p.TB.Helper()
	image := strings.Repeat("\xff\xd8picture", 50_000)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("gzip" + image)); err != nil {
		p.TB.Fatal(err)
	}
	w.Close()
	for _, post := range []struct{ resource, kind, body, coding string }{
		{"sample-image/jpeg", "image/jpeg", image, "identity"},
		{"sample-image/jpeg", "image/jpeg", packed.String(), "gzip"},
		{"sample-json/json", "application/json", `{"v":"` + strings.Repeat("text ", 80_000) + `"}`, "identity"},
	} {
		a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/"+post.resource, post.kind, post.body, "Content-Encoding", post.coding)
		if a.Status != http.StatusOK {
			p.TB.Fatalf("post to %s: %d %s", post.resource, a.Status, a.Body)
		}
	}
	a := p.Call(http.MethodGet, p.CoreData+"/api/v2/reading/all", "", "")
	for _, part := range strings.Split(a.Body, `{"id":"`)[1:] {
		readings = append(readings, part[:36])
	}
	if files := ledgetest.Payloads(p); len(readings) != 3 || len(files) != 3 {
		p.TB.Fatalf("readings %v in %v", readings, files)
	}
	return readings
}

// TestDamagedPayloads alters one byte of each file, at its beginning, in its middle or at its end: no read of it succeeds,
// neither of the value, whole or in part, nor of lists in JSON and CBOR. What is missing is an error that names the file.
func TestDamagedPayloads(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	readings := largeValues(p)
	all := append([]string{"Range", "bytes=70000-70009"}, "Range", "bytes=-1")
	for i, path := range ledgetest.Payloads(p) {
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
			url := p.CoreData + "/api/v2/reading/id/" + id + "/binary"
			if a, err := ledgetest.TryCall(http.MethodGet, url, "", ""); err == nil && a.Status == http.StatusOK && a.Body != string(altered) {
				continue // it is another file's
			}
			broken++
			mustNotGet(p, "altered", url)
			for n := 0; n < len(all); n += 2 {
				mustNotGet(p, "altered", url, all[n], all[n+1])
			}
		}
		if broken != 1 {
			t.Errorf("%d values cannot be read with byte %d of %s altered", broken, at, path)
		}
		for _, list := range listings(p) {
			mustNotGet(p, "altered", list)
			mustNotGet(p, "altered", list, "Accept", "application/cbor")
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, list := range listings(p) {
			if a := p.Call(http.MethodGet, list, "", ""); a.Status != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(a.Body), "]}") {
				t.Errorf("whole again: %d", a.Status)
			}
		}
	}
	p.WaitLog(`is damaged: `)
	if a := p.Call(http.MethodGet, p.CoreData+"/metrics", "", ""); !strings.Contains(a.Body, "\nledge_payload_damaged_reads_total ") || strings.Contains(a.Body, "\nledge_payload_damaged_reads_total 0\n") {
		t.Error("the metrics do not count it")
	}
	gone := ledgetest.Payloads(p)[0]
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, id := range readings {
		if a := p.Call(http.MethodGet, p.CoreData+"/api/v2/reading/id/"+id+"/binary", "", ""); a.Status == http.StatusInternalServerError && strings.Contains(a.Body, filepath.Base(gone)) {
			named++
		}
	}
	if named != 1 {
		t.Errorf("%d answers name %s, want 1", named, gone)
	}
	for _, list := range listings(p) {
		mustNotGet(p, "missing", list)
	}
	if code := p.Stop(); code != exit.OK {
		t.Error(fmt.Sprint("exit code ", code))
	}
}
