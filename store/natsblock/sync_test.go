package natsblock

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ledge/store/osfile"
)

// TestLayoutGuardAndRetention has retention remove blocks while a group is synced: the layout is the same then. If the bytes of the group
// are missing without that, or all blocks are, an fsync would prove nothing.
func TestLayoutGuardAndRetention(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[uint32]int
		fails bool
	}{
		{"grown", map[uint32]int{1: 1500}, false},
		{"not grown", map[uint32]int{1: 1000}, true},
		{"crossed", map[uint32]int{1: 1200, 2: 300}, false},
		{"last known block removed", map[uint32]int{2: 100}, false},
		{"and the one after it", map[uint32]int{3: 100}, false},
		{"all removed", nil, true},
	} {
		dir := t.TempDir()
		for n, size := range c.files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n, ".blk")), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := &Files{Dir: dir, last: 1, size: 1000, SyncFile: SyncFile, SyncFolder: osfile.SyncDir}
		if err := f.SyncGroup(500); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
