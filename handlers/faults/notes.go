package faults

import (
	"context"
)

// Notes are the faults of a request, for a program that sends it in process: an answer has the faults of an Invalid error only.
type Notes struct{ Faults []Fault }

type notesKey struct{}

// WithNotes returns the context of a request whose refusals are noted.
func WithNotes(ctx context.Context) (context.Context, *Notes) {
	n := new(Notes)
	return context.WithValue(ctx, notesKey{}, n), n
}

// Note notes the fields of a refusal. Their paths are below a place, such as [0].device; "" is the request.
func Note(ctx context.Context, below string, err error) {
	n, _ := ctx.Value(notesKey{}).(*Notes)
	if n == nil {
		return
	}
	for _, f := range OfFields(err) {
		if len(n.Faults) == mostFaults {
			return
		}
		if below != "" {
			f.Path = below + "." + f.Path
		}
		n.Faults = append(n.Faults, f)
	}
}
