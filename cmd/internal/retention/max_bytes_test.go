package retention

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"ledge/cmd/internal/node"
	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
	"ledge/store/payloads"
)

// limited is a data folder with the outer limits of readings, which hold when sweep has returned.
type limited struct {
	*node.Node
	files   *payloads.Files
	sweeper *sweeper
	values  *collector
	next    uint64
}

func mustLimit(t *testing.T, flags ...string) *limited {
	t.Helper()
	c := configOf(t, append([]string{"--data-dir", t.TempDir()}, flags...)...)
	l := &limited{Node: mustOpenData(t, c)}
	var err error
	if l.files, err = payloads.Open(c.Paths().Payloads(), payloads.Options{}); err != nil {
		t.Fatal(err)
	}
	l.values = newCollector(l.Node, l.files)
	l.sweeper = newSweeper(l.Node, optionsOf(c), l.values)
	return l
}

// large records a reading whose value is a file.
func (l *limited) large(t *testing.T, size int) {
	t.Helper()
	body := make([]byte, size)
	l.next++
	copy(body, fmt.Append(nil, l.next))
	digest, n, err := l.files.Put(t.Context(), bytes.NewReader(body), int64(size))
	if err != nil {
		t.Fatal(err)
	}
	nodetest.Submit(t, l.Node, domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{
		ID: nodetest.NewID(), Event: nodetest.NewID(), Profile: "p", Device: "large", Resource: "r", ValueType: domain.Binary, MediaType: "image/jpeg", Digest: digest, Size: n, Origin: time.Now().UnixNano(),
	}}})
	l.files.Release(digest, true)
}

func (l *limited) sweep(t *testing.T) payloads.Use {
	t.Helper()
	l.sweeper.sweep(t.Context())
	use, err := l.values.collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return use
}

// TestLimitCountsLargeValues holds that values in files of their own count for readings-max-bytes: the oldest go and the newest stay,
// although all of their events are in one block of the log.
func TestLimitCountsLargeValues(t *testing.T) {
	l := mustLimit(t, "--readings-max-bytes", "4MiB")
	for range 15 {
		l.large(t, 256<<10)
	}
	if use := l.sweep(t); use.Count != 15 {
		t.Errorf("below the limit: %+v", use)
	}
	for range 10 {
		l.large(t, 256<<10)
	}
	all := nodetest.EventsOf(t, l.Node, "large")
	if use := l.sweep(t); use.Bytes > 4<<20 || use.Count != 16 {
		t.Errorf("above the limit: %+v", use)
	}
	if left := nodetest.EventsOf(t, l.Node, "large"); len(left) != 16 || left[15].ID != all[24].ID || left[0].ID != all[9].ID {
		t.Errorf("%d events are left", len(left))
	}
	if got := removals(t, l.Node); got["readings-max-bytes=4MiB"] != 9 {
		t.Errorf("on record: %v", got)
	}
	l.large(t, 8<<20)
	if use := l.sweep(t); use.Count != 1 {
		t.Errorf("one that is larger than the limit stays alone: %+v", use)
	}
}

// TestLimitDropsBlocks holds that small values go with whole blocks of the log, and the files of that block's readings too.
func TestLimitDropsBlocks(t *testing.T) {
	l := mustLimit(t, "--readings-max-bytes", "10MiB")
	l.large(t, 300<<10)
	for range 13 {
		var list []domain.Command
		for range 20 {
			list = append(list, nodetest.NewReading("d", "r", 100<<10))
		}
		nodetest.Submit(t, l.Node, list...)
	}
	use := l.sweep(t)
	blocks, err := l.Readings.Log.Blocks()
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, b := range blocks[:len(blocks)-1] {
		sum += b.Bytes
	}
	if sum > 10<<20 || sum == 0 || use.Count != 0 || l.Readings.Log.First() == 1 {
		t.Errorf("%d blocks with %d bytes, and %+v; the log begins at %d", len(blocks), sum, use, l.Readings.Log.First())
	}
	if got := removals(t, l.Node); len(got) != 0 {
		t.Errorf("removed one by one: %v", got)
	}
	nodetest.MustBeFold(t, l.Node)
}

// TestLimitByAge holds that what is older than readings-max-age goes, also from the block that is still written to.
func TestLimitByAge(t *testing.T) {
	l := mustLimit(t, "--readings-max-age", "1h")
	start := time.Now()
	at := start
	l.Now = func() time.Time { return at }
	l.large(t, 300<<10)
	if use := l.sweep(t); use.Count != 1 {
		t.Errorf("too young: %+v", use)
	}
	if at = time.Now().Add(time.Hour); l.sweep(t).Count != 0 || len(nodetest.EventsOf(t, l.Node, "large")) != 0 {
		t.Errorf("it is of age: %+v", l.sweep(t))
	}
	if got := removals(t, l.Node); got["readings-max-age=1h0m0s"] != 1 {
		t.Errorf("on record: %v", got)
	}
}
