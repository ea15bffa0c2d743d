package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
	"ledge/store/payloads"
)

// TestVerifyBodiesMeanwhile holds that a body is not damage whose reading is removed while it is looked at, by a request or
// with the front of the log, unless another reading refers to it, and that what is recorded meanwhile counts.
func TestVerifyBodiesMeanwhile(t *testing.T) {
	paths := datadir.Paths{Data: t.TempDir()}
	d := nodetest.Open(t, paths.Data)
	files, err := payloads.Open(paths.Payloads(), payloads.Options{})
	if err != nil {
		t.Fatal(err)
	}
	post := func(body string) (event string) {
		t.Helper()
		digest, size, err := files.Put(t.Context(), strings.NewReader(body), 100)
		if err != nil {
			t.Fatal(err)
		}
		event = nodetest.NewID()
		nodetest.Submit(t, d, domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{
			ID: nodetest.NewID(), Event: event, Profile: "p", Device: "d", Resource: "r", MediaType: "image/jpeg", Digest: digest, Size: size, Origin: time.Now().UnixNano(),
		}}})
		return event
	}
	post("goes with the front")
	one, other := post("of two events"), post("of two events")
	post("stays")
	b := &Bodies{dir: paths.Payloads(), log: d.Readings.Log, Fold: d.Readings.State, follows: true}
	list, _, err := b.Part(1)
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v, want three bodies", err, list)
	}
	var out bytes.Buffer
	look := func(when string, r domain.Reading, whole, damaged int64) {
		t.Helper()
		if err := b.check(t.Context(), &out, r); err != nil || b.count != whole || b.damaged != damaged {
			t.Errorf("%s: %v, %d whole, %d damaged\n%s", when, err, b.count, b.damaged, &out)
		}
	}
	for _, r := range list[:2] {
		if err := os.Remove(filepath.Join(paths.Payloads(), r.Digest)); err != nil {
			t.Fatal(err)
		}
	}
	nodetest.Submit(t, d, domain.RemoveDataEvent{ID: other})
	look("one of two events is gone", list[1], 0, 1)
	nodetest.Submit(t, d, domain.RemoveDataEvent{ID: one})
	look("both are gone", list[1], 0, 1)
	post("comes later")
	if n, err := b.unused(); err != nil || n != 0 {
		t.Errorf("%d files that no event refers to, %v", n, err)
	}
	look("it is there", list[2], 1, 1)
	nodetest.LoseFront(t, d)
	if _, err := d.Readings.State.Forget(t.Context(), d.Readings.Log.First()); err != nil {
		t.Fatal(err)
	}
	look("the front of the log is gone", list[0], 1, 1)
	if !strings.Contains(out.String(), "sequence 2, ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("printed:\n%s", &out)
	}
}
