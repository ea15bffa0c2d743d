package ledgetest

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// FillDisk writes a file until no more than so many bytes are left on its disk.
func FillDisk(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const page = 4 << 10
	for n := int64(1); n > 0; { // others write to the disk, too
		n = max(0, FreeSpace(t, path)-left) / page * page
		if _, err := f.Write(make([]byte, min(n, 1<<20))); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// FreeSpace returns the free space of the disk that has path, in bytes.
func FreeSpace(t *testing.T, path string) int64 {
	t.Helper()
	out, err := exec.Command("stat", "-f", "-c", "%a %S", filepath.Dir(path)).Output()
	var blocks, size int64
	if _, serr := fmt.Sscan(string(out), &blocks, &size); err != nil || serr != nil {
		t.Fatalf("stat -f: %q, %v, %v", out, err, serr)
	}
	return blocks * size
}

// Must holds that an answer is as wanted and, where it is a refusal, says what is wrong.
func Must(t *testing.T, what string, want int, status int, body string) {
	t.Helper()
	if status != want || want == http.StatusInsufficientStorage && !strings.Contains(body, "disk is full") {
		t.Errorf("%s: %d %s, want %d", what, status, body, want)
	}
}

// MustHealth holds that a service says whether it is ready, and why not.
func MustHealth(p *Node, t *testing.T, url string, want int) {
	t.Helper()
	if a := p.Call(http.MethodGet, url+"/api/v2/health", "", ""); a.Status != want || want != http.StatusOK && !strings.Contains(a.Body, "not ready: the disk is full") {
		t.Errorf("%s is %d %s, want %d", url, a.Status, a.Body, want)
	}
}
