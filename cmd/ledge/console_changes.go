package main

import (
	"context"

	"ledge/domain"
)

// changeLog is the log of changes for the console.
type changeLog struct{ d *data }

// Last implements console.Changes.
func (l changeLog) Last() uint64 { return l.d.recorded() }

// At implements console.Changes.
func (l changeLog) At(ctx context.Context, seq uint64) (domain.Recorded, bool, error) {
	return l.d.store.Events().RecordedAt(ctx, seq)
}

// Read implements console.Changes.
func (l changeLog) Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	return each(l.d.store.Events().Read(ctx, from, to), f)
}
