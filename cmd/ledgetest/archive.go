package ledgetest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/store"
	"ledge/store/storetest"
)

// ArchiveAll is a value of events-max-bytes with which all full blocks of a log are archived.
const ArchiveAll = "1KiB"

// SplitLog splits the log of changes of a stopped node, which has one block, into six. So a log of some kilobytes can be archived.
func SplitLog(tb testing.TB, dir string) {
	tb.Helper()
	storetest.SplitLog(tb, filepath.Join(dir, "nats"), 6)
}

// LimitBelow returns a value of events-max-bytes a little below the size of the log of changes. A start with it archives the blocks above
// three quarters of that.
func LimitBelow(tb testing.TB, dir string) string {
	tb.Helper()
	var bytes int64
	list, _ := filepath.Glob(Block(dir, store.EventsStream, "*"))
	for _, path := range list {
		info, err := os.Stat(path)
		MustDo(tb, err)
		bytes += info.Size()
	}
	return strconv.FormatInt(bytes/100*95, 10)
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

// Split is a folder with a log of three devices in several blocks.
func Split(t *testing.T) (dir string) {
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
	SplitLog(t, dir)
	return dir
}

// Archived is a folder with such a log, of which most is archived. It returns the archive.
func Archived(t *testing.T) (dir, file string) {
	t.Helper()
	dir = Split(t)
	p := Start(t, dir, "--events-max-bytes", ArchiveAll)
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
