package ledgetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
)

// MustBackUp writes a backup of a node and returns its name and what was printed.
func MustBackUp(t *testing.T, dir string) (file, out string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "ledge.backup")
	out, errs, code := Run(t, "backup", "--data-dir", dir, file)
	if code != exit.OK {
		t.Fatalf("ledge backup: %d\n%s%s", code, out, errs)
	}
	if left, _ := filepath.Glob(filepath.Dir(file) + "/*"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	return file, out
}

// IsMissing reports whether err says that a file does not exist. Another error ends the test.
func IsMissing(tb testing.TB, err error) bool {
	tb.Helper()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return err != nil
}

// StreamsByAge are the streams, in the order in which a moment of them is copied: a notification is younger than the change that
// raised it, so the changes come last.
var StreamsByAge = []string{"LEDGE_READINGS", "LEDGE_NOTIFICATIONS", "LEDGE_EVENTS"}

// StreamFolder returns the folder of a stream.
func StreamFolder(dir, stream string) string {
	return filepath.Join(dir, "nats", "jetstream", "LEDGE", "streams", stream)
}

// Block returns the path of a block of a stream, by its number.
func Block(dir, stream, n string) string {
	return filepath.Join(StreamFolder(dir, stream), "msgs", n+".blk")
}

// CopyTree copies the files below from that wanted picks, by their path below from; one that goes away meanwhile is
// left out. Folders come along.
func CopyTree(tb testing.TB, from, to string, wanted func(rel string) bool) {
	tb.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, _ := filepath.Rel(from, path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rel), 0o750))
		}
		if !wanted(rel) || d.Type() == fs.ModeSocket {
			return nil
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(to, rel), b, 0o600))
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// Everything wants each file.
func Everything(string) bool { return true }

// Clone returns a copy of a folder.
func Clone(tb testing.TB, dir string) string {
	tb.Helper()
	to := tb.TempDir()
	CopyTree(tb, dir, to, Everything)
	return to
}

// CopyLog copies what the log needs by our own account: blocks and the streams' descriptions, and the bodies beside it.
func CopyLog(tb testing.TB, from, to string) {
	tb.Helper()
	for _, stream := range StreamsByAge {
		CopyTree(tb, StreamFolder(from, stream), StreamFolder(to, stream), func(rel string) bool { return filepath.Base(rel) != "index.db" })
	}
	CopyTree(tb, filepath.Join(from, "payloads"), filepath.Join(to, "payloads"), Everything)
}

// IsState reports whether a file of a data folder is a state file.
func IsState(rel string) bool {
	return !strings.Contains(rel, string(filepath.Separator)) && strings.HasSuffix(rel, ".db")
}

// IsIndex reports whether a file is the index of a stream.
func IsIndex(rel string) bool { return filepath.Base(rel) == "index.db" }

// Alter changes what is in a file; what is not there, or is a folder, is left so.
func Alter(tb testing.TB, path string, change func([]byte) []byte) {
	tb.Helper()
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Remove removes a file or folder, which must be there.
func Remove(tb testing.TB, path string) {
	tb.Helper()
	if _, err := os.Stat(path); err != nil {
		tb.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		tb.Fatal(err)
	}
}

// NewFolder makes a folder of a stopped node with some devices, readings of all sizes, a notification and a secret.
func NewFolder(t *testing.T) string {
	t.Helper()
	p := Start(t, t.TempDir())
	SubscribeElsewhere(p)
	for i := range 6 {
		p.AddDevice(fmt.Sprintf("cam-%d", i))
	}
	for i := range 3 {
		p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", fmt.Sprint(i))
		p.PostImage(strings.Repeat(fmt.Sprint(i), 300_000))
	}
	p.Call(http.MethodPost, p.DeviceREST+"/api/v2/secret", "application/json", `{"apiVersion":"v2","path":"mqtt","secretData":[{"key":"username","value":"me"}]}`)
	AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	return p.Dir
}

// ZeroPages overwrites all pages of a file from one on with zeros.
func ZeroPages(t *testing.T, path string, from int64) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, st.Size()-4096*from), 4096*from); err != nil {
		t.Fatal(err)
	}
}

// DigestOf returns the SHA-256 of a body, in hexadecimal digits.
func DigestOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// Verifies runs `ledge verify` and holds its exit code and the line on the payloads. It returns what else it prints.
func Verifies(t *testing.T, dir string, code int, line string) (out, errs string) {
	t.Helper()
	if datadir.Owner(dir) == "(unknown)" { // no server runs
		defer MustLeave(t, dir)()
	}
	out, errs, got := Run(t, "verify", "--data-dir", dir)
	if got != code || !strings.Contains(out, "\npayloads: "+line+"\n") {
		t.Errorf("ledge verify: exit code %d, want %d and %q\n%s%s", got, code, line, out, errs)
	}
	return out, errs
}

// MustLeave returns what holds that a folder is as it was: its files, their bytes, and the times of files and folders.
func MustLeave(t *testing.T, dir string) func() {
	t.Helper()
	before := listing(t, dir)
	return func() {
		t.Helper()
		if after := listing(t, dir); after != before {
			t.Errorf("%s is changed: it was\n%s\nand is\n%s", dir, before, after)
		}
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := "folder"
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(b))
		}
		fmt.Fprintln(&list, path, info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}
