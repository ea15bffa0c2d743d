package store_test

import (
	"fmt"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// batched notes the largest batch that is applied.
type batched struct {
	*storetest.Projection
	largest int
}

func (b *batched) Apply(events []domain.Recorded) error {
	b.largest = max(b.largest, len(events))
	return b.Projection.Apply(events)
}

// Catching up takes events in batches that are bounded in bytes too.
func TestCatchUpOfLargeEvents(t *testing.T) {
	const events = 60
	s := mustOpen(t, options(t.TempDir()))
	first := storetest.MustAppender(t, s.Events(), storetest.NewProjection())
	for i := range events {
		storetest.MustSubmit(t, first, storetest.AddLarge(fmt.Sprint("s-", i), 1<<20))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	p := &batched{Projection: storetest.NewProjection()}
	second, err := store.NewAppender(t.Context(), s.Events(), p, store.AppenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if seq, _ := p.Checkpoint(); seq != events || p.largest > 40 {
		t.Errorf("at %d after batches of at most %d MiB, want %d after some of 40 MiB or less", seq, p.largest, events)
	}
}
