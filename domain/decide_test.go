package domain

import (
	"reflect"
	"strings"
	"testing"
)

// decision says: given these events, when this command, then this event (an update with the whole entity, see [Whole]), nothing (want and says empty), or an error
// with this code whose message says this.
type decision struct {
	name  string
	given []Event
	when  Command
	want  Event
	code  Code
	says  string
}

// given folds events into a new state.
func given(events ...Event) State {
	s := NewMapState()
	for _, e := range events {
		e.Evolve(s)
	}
	return s
}

func runDecisions(t *testing.T, decisions []decision) {
	t.Helper()
	for _, d := range decisions {
		t.Run(d.name, func(t *testing.T) {
			got, err := d.when.Decide(given(d.given...))
			if d.says != "" {
				wantRefusal(t, got, err, d.code, d.says)
				return
			}
			if err != nil {
				t.Fatalf("got error %v, want %#v", err, d.want)
			}
			if got = Whole(given(d.given...), got); !reflect.DeepEqual(got, d.want) {
				t.Errorf("got  %#v\nwant %#v", got, d.want)
			}
		})
	}
}

func wantRefusal(t *testing.T, got Event, err error, code Code, says string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got event %#v, want an error that says %q", got, says)
	}
	if got != nil {
		t.Errorf("got event %#v beside the error %v", got, err)
	}
	if CodeOf(err) != code {
		t.Errorf("got code %d, want %d, of %v", CodeOf(err), code, err)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("got  %s\nwant %s", err, says)
	}
}

// mustDecide returns what cmd makes of s, which must not be a refusal.
func mustDecide(tb testing.TB, s State, cmd Command) Event {
	tb.Helper()
	e, err := cmd.Decide(s)
	if err != nil {
		tb.Fatalf("%#v: %v", cmd, err)
	}
	return e
}

// with returns v after edit.
func with[T any](v T, edit func(*T)) T {
	edit(&v)
	return v
}
