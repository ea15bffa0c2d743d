package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/store"
	"ledge/store/storetest"
)

// ages are how old the events in the blocks of an aged log are. A block is as old as the first event of the next one. Over
// its limit, the log is archived down to three quarters of it.
var ages = []time.Duration{128 * time.Hour, 64 * time.Hour, 32 * time.Hour, 16 * time.Hour, 8 * time.Hour, 0}

// agedOut are values of events-max-age: with them, one after the other, an aged log loses one block, one more, and then all
// but the last two.
var agedOut = []string{"50h", "25h", "1h"}

// ageLog takes the log of changes of a stopped node, which has one block, apart into as many blocks as there are ages, and
// dates their events back. So a log of some kilobytes can be archived. The chain does not cover when an event was stored;
// the checksum of its record does.
func ageLog(tb testing.TB, dir string) {
	tb.Helper()
	ageLogBy(tb, dir, ages)
}

// ageLogBy is ageLog with other ages.
func ageLogBy(tb testing.TB, dir string, ages []time.Duration) {
	tb.Helper()
	storetest.AgeLog(tb, filepath.Join(dir, "nats"), ages)
}

// snapshotsIn are the files in the folder of snapshots.
func snapshotsIn(dir string) []string {
	list, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	return list
}

// firstBlock is the number of the first block of the log of changes.
func firstBlock(dir string) (first int) {
	list, _ := filepath.Glob(block(dir, store.EventsStream, "*"))
	for _, path := range list {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(path), "%d.blk", &n); err == nil && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

// wholeHistory holds that `ledge log` prints the changes from event 1 on, each once.
func wholeHistory(dir string) error {
	all, err := tryFacts(dir)
	if err != nil {
		return err
	}
	next := map[string]uint64{}
	for _, f := range all {
		stream, _, _ := strings.Cut(strings.TrimPrefix(f.Subject, "ledge."), ".")
		if stream != "event" {
			continue
		}
		if next[stream]++; f.Seq != next[stream] {
			return fmt.Errorf("ledge log has event %d where %d is due", f.Seq, next[stream])
		}
	}
	if next["event"] == 0 {
		return fmt.Errorf("ledge log has no changes in %d facts", len(all))
	}
	return nil
}
