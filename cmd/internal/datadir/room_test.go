package datadir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRoom has a disk with 1000 free bytes and a limit of 300.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, bytes int) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("state.db", 60)
	write("nats/a/1.blk", 40)
	free, values := uint64(1000), int64(10)
	r := &Room{dir: dir, max: 300, free: func(string) (uint64, error) { return free, nil }}
	for _, one := range []struct {
		what   string
		change func()
		want   uint64
	}{
		{"the first look", func() {}, 200},
		{"a file more", func() { write("archive/1", 40) }, 160},
		{"large values are counted", func() { write("payloads/1", 20) }, 140},
		{"and then known", func() { r.AddValues(filepath.Join(dir, "payloads"), func() int64 { return values }) }, 150},
		{"a larger one", func() { values = 30 }, 130},
		{"the disk has less than is left", func() { free = 90 }, 90},
		{"more than the limit", func() { free = 1000; write("bus/x", 400) }, 0},
		{"files go", func() { os.RemoveAll(filepath.Join(dir, "bus")) }, 130},
	} {
		one.change()
		r.next = time.Time{}
		if got, err := r.Free(dir); err != nil || got != one.want {
			t.Errorf("%s: %d bytes may be taken, want %d; %v", one.what, got, one.want, err)
		}
	}
	free = 2000
	if got, err := NewRoom(dir, 0).Free(dir); err != nil || got < 300 {
		t.Errorf("without a limit %d bytes may be taken; %v", got, err)
	}
	if got, err := r.Free(dir + "/no/such"); err != nil || got != 130 {
		t.Errorf("%d, %v", got, err)
	}
}
