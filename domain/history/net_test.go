package history_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/domain/history"
)

// counted is a log that counts the events that are read.
type counted struct {
	history.Reader
	single, inSpans int
}

func (l *counted) At(ctx context.Context, seq uint64) (domain.Recorded, bool, error) {
	l.single++
	return l.Reader.At(ctx, seq)
}

func (l *counted) Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	return l.Reader.Read(ctx, from, to, func(r domain.Recorded) error {
		l.inSpans++
		return f(r)
	})
}

// newLabels returns an update that replaces labels from an index on.
func newLabels(prev uint64, at int, was, is string) domain.Event {
	list := func(text string) []byte {
		if text == "" {
			return nil
		}
		return []byte(`["` + strings.ReplaceAll(text, ",", `","`) + `"]`)
	}
	changes := domain.Changes{"labels": {At: &at, Was: list(was), Is: list(is)}}
	return domain.DevicePatched{Update: domain.Update{Name: "d", Prev: prev, Modified: int64(prev) + 1, Changes: changes}}
}

// TestNet folds spans of the history of a device. Updates are merged without a read of the events before them.
func TestNet(t *testing.T) {
	labelled := newDevice("a")
	labelled.Labels = []string{"a", "b", "c", "d"}
	added, removed := domain.DeviceAdded{Device: newDevice("a")}, domain.DeviceRemoved{Device: newDevice("c"), Prev: 3}
	old := domain.DeviceUpdated{Device: newDevice("b"), Changed: []string{"description"}}
	for name, tt := range map[string]struct {
		log     events
		after   uint64
		want    string
		inSpans int // events that are read
	}{
		"updates":        {events{nil, newPatch(1, "a", "b"), newPatch(2, "b", "c")}, 1, `updated description:"a"→"c" `, 2},
		"taken back":     {events{nil, newPatch(1, "a", "b"), newPatch(2, "b", "a")}, 1, "", 2},
		"added":          {events{nil, added, newPatch(2, "a", "b")}, 1, `added description:→"b" name:→"d" `, 2},
		"added and gone": {events{nil, added, newPatch(2, "a", "c"), removed}, 1, "", 3},
		"removed":        {events{nil, newPatch(1, "a", "c"), removed}, 1, `removed description:"a"→ name:"d"→ `, 2},
		"added again":    {events{nil, newPatch(1, "a", "c"), removed, old}, 1, `updated description:"a"→"b" `, 3},
		"an old update":  {events{added, newPatch(1, "a", "x"), old, newPatch(3, "b", "c")}, 1, `updated description:"a"→"c" `, 7},
		"a list twice": {events{domain.DeviceAdded{Device: labelled}, newLabels(1, 0, "a", ""), newLabels(2, 2, "d", "")}, 1,
			`updated labels[0]:["a","b","c","d"]→["b","c"] `, 5},
		"an unread list": {events{nil, newLabels(1, 0, "a", ""), newLabels(2, 2, "d", "")}, 1,
			"the events are in an archive that is missing", 2},
	} {
		log := &counted{Reader: tt.log}
		net := &history.Net{Log: log, Want: func(entity, _ string) bool { return entity == "device" }}
		err := net.Read(t.Context(), tt.after, uint64(len(tt.log)))
		got := printNet(t, net)
		if errors.Is(err, history.ErrUnread) {
			got, err = err.Error(), nil
		}
		wrong := got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want))
		if wrong || err != nil || log.single > 0 || log.inSpans != tt.inSpans {
			const text = "%s: got %q and %v after %d single reads and %d events, want %q after %d"
			t.Errorf(text, name, got, err, log.single, log.inSpans, tt.want, tt.inSpans)
		}
	}
}

// printNet returns the changes of the fields that the tests give.
func printNet(t *testing.T, net *history.Net) (got string) {
	t.Helper()
	for c, err := range net.All() {
		if err != nil {
			t.Fatal(err)
		}
		got += c.Verb + " "
		for _, f := range c.Changes {
			if slices.Contains([]string{"description", "name"}, f.Field) || strings.HasPrefix(f.Field, "labels") {
				got += fmt.Sprintf("%s:%s→%s ", f.Field, f.Was, f.Is)
			}
		}
	}
	return got
}
