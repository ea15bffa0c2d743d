package bus_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ledge/store/bus"
	"ledge/store/disktest"
	"ledge/store/storetest"
)

// TestFullDisk has the disk of the copies full: the log goes on, and there is a warning. When there is room again, the copies catch up by
// themselves.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := disktest.New(t, 24<<10)
	n := mustOpen(t, t.TempDir(), bus.Options{Dir: filepath.Join(dir, "bus"), MaxBytes: 64 * mib})
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 16*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 80 {
		storetest.MustSubmit(t, n.appenders[2], storetest.Post("cam-1", make([]byte, 200<<10+i)))
	}
	for end := time.Now().Add(patience); len(n.bus.Warnings()) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no warning: %+v", n.bus.Stats())
		}
	}
	t.Log(n.bus.Warnings())
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	n.equal(n.store.Readings())
	if w := n.bus.Warnings(); len(w) > 0 {
		t.Errorf("still %v", w)
	}
}
