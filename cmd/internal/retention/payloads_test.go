package retention

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/node/nodetest"
	"ledge/domain"
	"ledge/store/payloads"
)

// TestCollector holds that a payload goes when the last reading goes that refers to it: by request, and by retention.
func TestCollector(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	files, err := payloads.Open(filepath.Join(c.DataDir, "payloads"), payloads.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, body := range []string{"of two readings", "for retention"} {
		digest, _, err := files.Put(t.Context(), strings.NewReader(body), 100)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	submit := func(command domain.Command) {
		t.Helper()
		out, err := d.Readings.Appender.Submit(t.Context(), domain.Request{Stamp: domain.Stamp{EventID: nodetest.NewID(), At: time.Now(), Actor: "anonymous"}, Command: command})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	var events []string
	for _, digest := range []string{digests[1], digests[0], digests[0]} {
		event := nodetest.NewID()
		events = append(events, event)
		submit(domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{
			ID: nodetest.NewID(), Event: event, Profile: "p", Device: "d", Resource: "r", MediaType: "image/jpeg", Digest: digest, Origin: time.Now().UnixNano(),
		}}})
	}
	there := func(digest string) bool {
		r, err := files.Get(digest)
		if err == nil {
			r.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	values := newCollector(d, files)
	go func() { ended <- values.run(ctx) }()
	for _, digest := range digests {
		files.Release(digest, true)
	}
	submit(domain.RemoveDataEvent{ID: events[1]})
	last, _, err := files.Put(t.Context(), strings.NewReader("never referred to"), 100)
	if err != nil {
		t.Fatal(err)
	}
	files.Release(last, false)
	nodetest.Until(t, "what is not referred to", func() bool { return !there(last) })
	if !there(digests[0]) || !there(digests[1]) {
		t.Error("a payload is gone that a reading refers to")
	}
	submit(domain.RemoveDataEvent{ID: events[2]})
	nodetest.Until(t, "what two readings referred to", func() bool { return !there(digests[0]) })
	if !there(digests[1]) {
		t.Error("a payload is gone that a reading refers to")
	}
	nodetest.LoseFront(t, d)
	newSweeper(d, Options{}, values).sweep(t.Context())
	nodetest.Until(t, "what retention has removed", func() bool { return !there(digests[1]) })
	stop()
	<-ended
}
