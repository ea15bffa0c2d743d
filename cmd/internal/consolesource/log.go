package consolesource

import (
	"context"

	"ledge/cmd/internal/node"
	"ledge/domain"
)

// changeLog is the log of changes for the console.
type changeLog struct{ d *node.Node }

// Last implements console.Changes.
func (l changeLog) Last() uint64 { return l.d.Changes.Recorded() }

// At implements console.Changes.
func (l changeLog) At(ctx context.Context, seq uint64) (domain.Recorded, bool, error) {
	return l.d.Changes.Log.RecordedAt(ctx, seq)
}

// Read implements console.Changes.
func (l changeLog) Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error {
	return node.Each(l.d.Changes.Log.Read(ctx, from, to), f)
}
