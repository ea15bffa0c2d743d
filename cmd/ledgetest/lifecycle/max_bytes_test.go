package lifecycle

import (
	"crypto/rand"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

const mostBytes = 64 << 20

// TestMaxBytes posts more than max-bytes allows: the folder stays below, and the share of the readings makes room again and
// again.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--max-bytes", "64MiB", "--disk-reserve", "4MiB")
	for n := range mostBytes * 3 / 2 / readingBytes {
		ledgetest.Until(t, "room for a reading", func() bool { return mayPost(t, p) })
		if got := bytesIn(dir); got > mostBytes {
			t.Fatalf("the folder has %d bytes, after %d readings", got, n)
		}
	}
}

// TestMaxBytesWithoutShares keeps all readings: they are refused before the folder has max-bytes, and changes are not. Removals make room.
func TestMaxBytesWithoutShares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, "--max-bytes", "64MiB", "--disk-reserve", "4MiB", "--readings-max-bytes", "0")
	posted := 0
	for mayPost(t, p) {
		if posted += readingBytes; posted > mostBytes {
			t.Fatalf("%d bytes are taken", posted)
		}
	}
	if got := bytesIn(dir); got > mostBytes || posted < mostBytes/2 {
		t.Errorf("the folder has %d bytes, after %d", got, posted)
	}
	change := `[{"apiVersion":"v2","device":{"name":"sample-image","description":"changed"}}]`
	a := p.Call(http.MethodPatch, p.Metadata+"/api/v2/device", "application/json", change)
	if !strings.Contains(a.Body, `"statusCode":200`) {
		t.Errorf("a change: %d %s", a.Status, a.Body)
	}
	if a := p.Call(http.MethodDelete, p.CoreData+"/api/v2/event/age/0", "", ""); a.Status != http.StatusAccepted {
		t.Errorf("a removal: %d %s", a.Status, a.Body)
	}
	ledgetest.Until(t, "the removal to make room", func() bool { return mayPost(t, p) })
}

const readingBytes = 500_000

// newBody returns a body that cannot be compressed and that no other reading has.
func newBody() string {
	body := make([]byte, readingBytes)
	_, _ = rand.Read(body)
	return string(body)
}

// mayPost posts a reading, and reports whether there was room for it.
func mayPost(t *testing.T, p *ledgetest.Node) bool {
	t.Helper()
	a := p.PostImage(newBody())
	if a.Status == http.StatusOK {
		return true
	}
	ledgetest.Must(t, "a reading", http.StatusInsufficientStorage, a.Status, a.Body)
	return false
}

// bytesIn adds up the files of a folder. One that is removed meanwhile does not count.
func bytesIn(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// TestSharesOfMaxBytes holds that sizes that are not set have their shares, and that the output says so.
func TestSharesOfMaxBytes(t *testing.T) {
	t.Parallel()
	out, errs, code := ledgetest.Run(t, "config", "--max-bytes", "2GiB", "--notifications-max-bytes", "1GiB", "--json")
	if code != 0 {
		t.Fatalf("%d %s", code, errs)
	}
	for _, want := range []string{`"value": "716MiB"`, `"source": "max-bytes"`, `"value": "1GiB"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	_, errs, code = ledgetest.Run(t, "config", "--max-bytes", "100MiB")
	if want := "use 0, or 1GiB or more"; code == 0 || !strings.Contains(errs, want) {
		t.Errorf("%d %q, want %q", code, errs, want)
	}
}
