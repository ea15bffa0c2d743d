package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
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
		out, err := d.readings.Submit(t.Context(), domain.Request{Stamp: domain.Stamp{EventID: ledgetest.NewID(), At: time.Now(), Actor: "anonymous"}, Command: command})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out)
		}
	}
	var events []string
	for _, digest := range []string{digests[1], digests[0], digests[0]} {
		event := ledgetest.NewID()
		events = append(events, event)
		submit(domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{
			ID: ledgetest.NewID(), Event: event, Profile: "p", Device: "d", Resource: "r", MediaType: "image/jpeg", Digest: digest, Origin: time.Now().UnixNano(),
		}}})
	}
	there := func(digest string) bool {
		r, err := files.Get(digest)
		if err == nil {
			r.Close()
		}
		return !ledgetest.IsMissing(t, err)
	}
	p := &Program{data: d, payloads: files}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.newCollector().run(ctx) }()
	for _, digest := range digests {
		files.Release(digest, true)
	}
	submit(domain.RemoveDataEvent{ID: events[1]})
	last, _, err := files.Put(t.Context(), strings.NewReader("never referred to"), 100)
	if err != nil {
		t.Fatal(err)
	}
	files.Release(last, false)
	ledgetest.Until(t, "what is not referred to", func() bool { return !there(last) })
	if !there(digests[0]) || !there(digests[1]) {
		t.Error("a payload is gone that a reading refers to")
	}
	submit(domain.RemoveDataEvent{ID: events[2]})
	ledgetest.Until(t, "what two readings referred to", func() bool { return !there(digests[0]) })
	if !there(digests[1]) {
		t.Error("a payload is gone that a reading refers to")
	}
	d.loseFront(t)
	d.forget(t.Context(), d.projections()[2])
	ledgetest.Until(t, "what retention has removed", func() bool { return !there(digests[1]) })
	stop()
	<-ended
}
