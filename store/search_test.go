package store_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/store"
	"ledge/store/natsblock"
	"ledge/store/storetest"
	"ledge/store/tap"

	"github.com/nats-io/nats.go"
)

// mustReadHistory connects to the tap of a store as a client that reads history.
func mustReadHistory(t *testing.T, s *store.Store) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.Tap().URL(), nats.UserInfo("history", "history"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// TestHistoryAnswersAsJetStream asks both Ledge and JetStream, and compares every header and byte. JetStream finds subjects only in a
// log of an earlier version, which Ledge reads as well; the answers from a log of today differ in ce-subject alone.
func TestHistoryAnswersAsJetStream(t *testing.T) {
	t.Parallel()
	o := options(t.TempDir())
	o.Tap = &tap.Options{}
	s := mustOpen(t, o)
	a := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	storetest.MustAdd(t, a, "a", 40)
	storetest.MustAdd(t, a, "b", 5)
	storetest.MustAdd(t, a, "a", 0)
	nc := mustReadHistory(t, s)
	middle := mustAsk(t, nc, "", `{"seq":20}`)[0].Header.Get("Nats-Time-Stamp")
	const events, inBytes = "ledge.event.service.", `{"seq":1,"batch":100,"max_bytes":2000}`
	asks := []struct{ subject, body string }{
		{"", `{"seq":1}`}, {"", `{"seq":45}`}, {"", `{"seq":46}`}, {"", `{"seq":4,"no_hdr":true}`},
		{"", `{"seq":7,"next_by_subj":">"}`}, {"", `{"next_by_subj":">"}`}, {"", `{"seq":46,"next_by_subj":">"}`},
		{"", `{"seq":3,"next_by_subj":"` + events + `a-9.added"}`}, {"", `{"seq":11,"next_by_subj":"` + events + `a-9.added"}`},
		{"", `{"seq":3,"next_by_subj":"` + events + `*.added"}`}, {"", `{"seq":3,"next_by_subj":"nothing.>"}`},
		{"", `{"last_by_subj":"` + events + `a-9.added"}`}, {"", `{"last_by_subj":"` + events + `none.added"}`}, {"", `{"last_by_subj":">"}`},
		{"." + events + "b-1.added", ""}, {"." + events + "c.added", ""}, {"." + events + "b-1.added", `{"seq":3}`},
		{"", `{"seq":1,"batch":10}`}, {"", `{"seq":40,"batch":10}`}, {"", `{"seq":46,"batch":10}`}, {"", inBytes},
		{"", `{"seq":5,"batch":1}`}, {"", `{"seq":2,"next_by_subj":">","batch":7}`},
		{"", `{"start_time":"` + middle + `","batch":3}`}, {"", `{"start_time":"` + middle + `"}`},
		{"", ``}, {"", `{}`}, {"", `{"batch":3}`}, {"", `no json`}, {"", `{"seq":1,"last_by_subj":"a"}`}, {"", `{"last_by_subj":"a","batch":2}`},
		{"", `{"last_by_subj":"a","next_by_subj":"a"}`},
	}
	var today [][]*nats.Msg
	for _, ask := range asks {
		today = append(today, mustAsk(t, nc, ask.subject, ask.body))
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	earlier(t, o.Dir)
	s = mustOpen(t, o)
	if r, err := s.Events().Verify(t.Context(), nil); err != nil || r.Count != 45 {
		t.Fatalf("the log of an earlier version: %+v, %v", r, err)
	}
	_ = storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	nc = mustReadHistory(t, s)
	for i, ask := range asks {
		want, err := storetest.AskAll(s.ServerConn(), "$JS.API.DIRECT.GET.LEDGE_EVENTS"+ask.subject, ask.body)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustAsk(t, nc, ask.subject, ask.body); !slices.EqualFunc(got, want, same) {
			t.Errorf("%s %s:\ngot  %s\nwant %s", ask.subject, ask.body, headers(got), headers(want))
		}
		if ask.body == inBytes {
			continue // a message takes more of them today
		}
		for _, m := range today[i] {
			delete(m.Header, "ce-subject")
		}
		if !slices.EqualFunc(today[i], want, same) {
			t.Errorf("today, %s %s:\ngot  %s\nwant %s", ask.subject, ask.body, headers(today[i]), headers(want))
		}
	}
}

func same(a, b *nats.Msg) bool {
	return string(a.Data) == string(b.Data) && maps.EqualFunc(a.Header, b.Header, slices.Equal[[]string])
}

// earlier makes the log of changes in a folder, which nobody has open, one of an earlier version.
func earlier(t *testing.T, dir string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(eventsDir(dir), "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("no blocks: %v", err)
	}
	path := filepath.Join(eventsDir(dir), "msgs", "index.db")
	x, err := natsblock.Decode("LEDGE_EVENTS", mustRead(t, path))
	if err != nil || len(blocks) > 1 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	text := store.EarlierForm(mustRead(t, block(dir, 1)), "LEDGE_EVENTS", 1)
	mustWrite(t, block(dir, 1), text)
	x.Bytes, x.Blocks[0].Bytes, x.Subjects = uint64(len(text)), uint64(len(text)), nil // the server answers by the subjects in its index
	copy(x.Checksum[:], text[len(text)-len(x.Checksum):])
	for r, err := range (&natsblock.Scan{Files: natsblock.FilesOf(eventsDir(dir)), Block: 1, Prefix: "ledge.", Chunk: natsblock.MaxBlock}).Records() {
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := r.Parts()
		x.Subjects = append(x.Subjects, natsblock.Subject{Name: string(name), Total: 1, First: 1, Last: 1})
	}
	mustWrite(t, path, x.Encode("LEDGE_EVENTS"))
	storetest.ForgetStop(t, dir)
}

func headers(all []*nats.Msg) string {
	var list []string
	for _, m := range all {
		list = append(list, fmt.Sprint(m.Header, len(m.Data)))
	}
	return strings.Join(list, "\n     ")
}

func mustAsk(t *testing.T, nc *nats.Conn, subject, body string) []*nats.Msg {
	t.Helper()
	all, err := storetest.AskAll(nc, "$JS.API.DIRECT.GET.LEDGE_EVENTS"+subject, body)
	if err != nil {
		t.Fatalf("%s %s: %v", subject, body, err)
	}
	return all
}
