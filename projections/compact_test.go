package projections

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ledge/domain"
)

// TestCompact removes most of what a file has: the next start writes it anew, with all that is left. The start after that does not.
func TestCompact(t *testing.T) {
	t.Parallel()
	f := MustOpen(t, Notifications)
	const most = 6000
	var events []domain.Event
	for i := range most {
		events = append(events, domain.NotificationAdded{Notification: domain.Notification{ID: uuid("n", i+1), Category: "c", Content: strings.Repeat("content ", 600)}})
	}
	f.add(t, events...)
	size := func() int64 {
		t.Helper()
		must(t, f.Close())
		info, err := os.Stat(f.options.Path)
		must(t, err)
		f.open(t)
		return info.Size()
	}
	full := size()
	if _, err := f.Forget(t.Context(), most-99); err != nil {
		t.Fatal(err)
	}
	want := f.mustDump(t)
	if left := size(); left < full {
		t.Fatalf("the file has shrunk from %d to %d bytes by itself", full, left)
	}
	if got := f.mustDump(t); got != want {
		t.Error("the compacted file has other rows")
	}
	if left := size(); left > full/10 {
		t.Errorf("the file has %d bytes, and had %d when it was full", left, full)
	}
	before := mustStat(t, f.options.Path)
	size()
	if after := mustStat(t, f.options.Path); !os.SameFile(before, after) {
		t.Error("a file without free pages is compacted again")
	}
	if seq, chain := f.Checkpoint(); seq != most || chain != chainOf(seq) {
		t.Errorf("at %d", seq)
	}
	f.startAgain(t, f.events)
}

func mustStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(fmt.Errorf("stat: %w", err))
	}
	return info
}
