package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The streams, in the order in which a moment of them is copied: a notification is younger than the change that
// raised it, so the changes come last.
var streamsByAge = []string{"LEDGE_READINGS", "LEDGE_NOTIFICATIONS", "LEDGE_EVENTS"}

func streamFolder(dir, stream string) string {
	return filepath.Join(dir, "nats", "jetstream", "LEDGE", "streams", stream)
}

func block(dir, stream, n string) string {
	return filepath.Join(streamFolder(dir, stream), "msgs", n+".blk")
}

// copyTree copies the files below from that wanted picks, by their path below from; one that goes away meanwhile is
// left out. Folders come along.
func copyTree(tb testing.TB, from, to string, wanted func(rel string) bool) {
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

func everything(string) bool { return true }

// clone returns a copy of a folder.
func clone(tb testing.TB, dir string) string {
	tb.Helper()
	to := tb.TempDir()
	copyTree(tb, dir, to, everything)
	return to
}

// copyLog copies what the log needs by our own account: blocks and the streams' descriptions, and the bodies beside it.
func copyLog(tb testing.TB, from, to string) {
	tb.Helper()
	for _, stream := range streamsByAge {
		copyTree(tb, streamFolder(from, stream), streamFolder(to, stream), func(rel string) bool { return filepath.Base(rel) != "index.db" })
	}
	copyTree(tb, filepath.Join(from, "payloads"), filepath.Join(to, "payloads"), everything)
}

func isState(rel string) bool {
	return !strings.Contains(rel, string(filepath.Separator)) && strings.HasSuffix(rel, ".db")
}

func isIndex(rel string) bool { return filepath.Base(rel) == "index.db" }

// alter changes what is in a file; what is not there, or is a folder, is left so.
func alter(tb testing.TB, path string, change func([]byte) []byte) {
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

func remove(tb testing.TB, path string) {
	tb.Helper()
	if _, err := os.Stat(path); err != nil {
		tb.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		tb.Fatal(err)
	}
}
