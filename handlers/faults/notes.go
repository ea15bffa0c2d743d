package faults

import (
	"context"
	"errors"

	"ledge/domain"
	"ledge/handlers/jsonform"
)

// Field is a field that a refusal is about. Unlike a [Fault] it does not come from the message: its path is data of the error.
type Field struct {
	// Path is the place of the field, such as [0].device.name.
	Path string
	// Says is the fault and its cure, such as "is missing or empty; give a name". If Whole is set, it is the whole message of the refusal.
	Says  string
	Whole bool
}

// FieldsOf returns the fields that err is about; nil if it is about the request as a whole.
func FieldsOf(err error) (list []Field) {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return nil
	}
	for _, p := range e.Problems {
		list = append(list, Field{p.Path(), jsonform.Shorten(p.Says(), mostCure), p.Says() == e.Message})
	}
	return list
}

// Notes are the fields that a refused request is about, for a program that sends it in process: an answer has the faults of an Invalid
// error only.
type Notes struct{ Fields []Field }

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
	for _, f := range FieldsOf(err) {
		if len(n.Fields) == mostFaults {
			return
		}
		if below != "" {
			f.Path = below + "." + f.Path
		}
		n.Fields = append(n.Fields, f)
	}
}
