package ledgetest

import (
	bytesof "encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/store"
	"ledge/store/natsblock"
	"ledge/store/storetest"
)

// ages are how old the events in the blocks of an aged log are. A block is as old as the first event of the next one. Over
// its limit, the log is archived down to three quarters of it.
var ages = []time.Duration{128 * time.Hour, 64 * time.Hour, 32 * time.Hour, 16 * time.Hour, 8 * time.Hour, 0}

// AgedOut are values of events-max-age: with them, one after the other, an aged log loses one block, one more, and then all
// but the last two.
var AgedOut = []string{"50h", "25h", "1h"}

// AgeLog takes the log of changes of a stopped node, which has one block, apart into as many blocks as there are ages, and
// dates their events back. So a log of some kilobytes can be archived. The chain does not cover when an event was stored;
// the checksum of its record does.
func AgeLog(tb testing.TB, dir string) {
	tb.Helper()
	ageLogBy(tb, dir, ages)
}

// ageLogBy is AgeLog with other ages.
func ageLogBy(tb testing.TB, dir string, ages []time.Duration) {
	tb.Helper()
	whole := Block(dir, store.EventsStream, "1")
	text, err := os.ReadFile(whole)
	if err != nil {
		tb.Fatal(err)
	}
	var records [][]byte
	for len(text) > 0 {
		n := bytesof.LittleEndian.Uint32(text) &^ (1 << 31)
		records, text = append(records, text[:n]), text[n:]
	}
	if len(records) < len(ages) {
		tb.Fatalf("%d events, want %d", len(records), len(ages))
	}
	for i, age := range ages {
		var b []byte
		for _, r := range records[i*len(records)/len(ages) : (i+1)*len(records)/len(ages)] {
			b = append(b, backdated(tb, r, i+1, age)...)
		}
		MustDo(tb, os.WriteFile(Block(dir, store.EventsStream, fmt.Sprint(i+1)), b, 0o600))
	}
	MustDo(tb, os.Remove(filepath.Join(StreamFolder(dir, store.EventsStream), "msgs", "index.db")))
	storetest.ForgetStop(tb, filepath.Join(dir, "nats"))
}

// backdated returns a record as it would be in another block, stored earlier by an age.
func backdated(tb testing.TB, record []byte, block int, age time.Duration) []byte {
	tb.Helper()
	r := append([]byte{}, record...)
	bytesof.LittleEndian.PutUint64(r[12:], bytesof.LittleEndian.Uint64(r[12:])-uint64(age))
	natsblock.ChecksumOf(store.EventsStream, uint32(block)).Seal(r)
	return r
}

// SnapshotsIn are the files in the folder of snapshots.
func SnapshotsIn(dir string) []string {
	list, _ := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	return list
}

// FirstBlock is the number of the first block of the log of changes.
func FirstBlock(dir string) (first int) {
	list, _ := filepath.Glob(Block(dir, store.EventsStream, "*"))
	for _, path := range list {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(path), "%d.blk", &n); err == nil && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

// WholeHistory holds that `ledge log` prints the changes from event 1 on, each once.
func WholeHistory(dir string) error {
	all, err := TryFacts(dir)
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

// MustDo ends the test if err is not nil.
func MustDo(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// DescribeDevice changes the description of a device.
func DescribeDevice(p *Node, name, description string) {
	p.TB.Helper()
	body := fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":%q,"description":%q}}]`, name, description)
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", body, http.StatusOK)
}

// Aged is a folder with an aged log of three devices.
func Aged(t *testing.T) (dir string) {
	t.Helper()
	return AgedBy(t, ages)
}

// AgedBy is aged with other ages.
func AgedBy(t *testing.T, ages []time.Duration) (dir string) {
	t.Helper()
	dir = t.TempDir()
	p := Start(t, dir)
	p.AddDevice("cam-1")
	p.AddDevice("cam-2")
	for i := range 26 {
		DescribeDevice(p, "cam-1", fmt.Sprint("description ", i))
	}
	p.AddDevice("cam-3")
	AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	ageLogBy(t, dir, ages)
	return dir
}

// Archived is an aged folder of which most is archived. It returns the archive.
func Archived(t *testing.T) (dir, file string) {
	t.Helper()
	dir = Aged(t)
	p := Start(t, dir, "--events-max-age", AgedOut[2])
	p.WaitLog(`"msg":"a stretch of the log of changes is archived"`)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "archive", "LEDGE_EVENTS-*.archive"))
	if len(files) != 1 {
		t.Fatalf("archives: %v\n%s", files, p.Log)
	}
	return dir, files[0]
}

// MustUnlink removes a file.
func MustUnlink(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
