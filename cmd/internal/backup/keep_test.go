package backup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRemoveOldKeepsTheNewest holds that the backup that was just made stays if the clock was set back, and that the part of a backup goes
// when it is old.
func TestRemoveOldKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	const newest = "ledge-20260102T120000Z.tar"
	for _, name := range []string{
		newest, "ledge-20260201T000000Z.tar", "ledge-20260202T000000Z.tar",
		"ledge-20260101T000000Z.tar.partial", "ledge-20260102T110000Z.tar.partial", "mine.tar.partial",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := RemoveOld(filepath.Join(dir, newest), 2)
	want := []string{filepath.Join(dir, "ledge-20260101T000000Z.tar.partial"), filepath.Join(dir, "ledge-20260201T000000Z.tar")}
	if err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %v, %v, want %v", removed, err, want)
	}
	if removed, err = RemoveOld(filepath.Join(dir, newest), 1); err != nil || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
}
