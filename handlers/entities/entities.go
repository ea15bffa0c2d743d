// Package entities reads entities of the state for answers: one, or a page of a list. No view is open while a client reads. A large entity
// is read once there is memory for it.
package entities

import (
	"slices"

	"ledge/domain"
	"ledge/handlers/answers"
)

// Reader opens one consistent look at the state; the function that it returns closes it.
type Reader func() (domain.View, func())

// Kind says where the entities of one type are.
type Kind[S any] struct {
	// List is what domain.Lists calls their list.
	List  string
	Table func(domain.State) domain.Table[S]
}

const (
	// batchBytes is how much of entities is read under one view. A larger entity is read alone, once there is memory for it.
	batchBytes = answers.LargeBytes
	// batchEntities is how many entities there is room for in a batch, before it grows.
	batchEntities = 32
)

// Found is a page of a list. The entities are read while the answer is made, some at a time, and no view is open meanwhile. An
// entity that was removed since is left out, although Total counts it; one that was changed since is as it is now.
type Found[S any] struct {
	Total int
	kind  Kind[S]
	state Reader
	keys  []string // of the entities that are not read yet
	batch []S
	large bool // there is memory for the batch
}

// Query finds a page, and reads its first entities under the same view.
func Query[S any](state Reader, kind Kind[S], page domain.Page, filters []domain.Filter) (*Found[S], error) {
	view, done := state()
	defer done()
	keys, total, err := view.Lists.Keys(kind.List, page, filters...)
	if err != nil {
		return nil, err
	}
	f := &Found[S]{Total: total, kind: kind, state: state, keys: keys}
	f.read(view, batchBytes)
	return f, nil
}

// IsRead reports whether all entities on the page are read.
func (f *Found[S]) IsRead() bool { return len(f.keys) == 0 }

// read reads the next entities up to most bytes together. Where the first is larger than that it reads none and returns how large it is.
func (f *Found[S]) read(view domain.View, most int) (larger int) {
	t := f.kind.Table(view.State)
	f.batch = slices.Grow(f.batch[:0], min(len(f.keys), batchEntities))
	for left := most; len(f.keys) > 0; f.keys = f.keys[1:] {
		n := len(f.batch)
		f.batch = append(f.batch, *new(S))
		row := domain.GetWithin(t, f.keys[0], left, &f.batch[n])
		if !row.OK {
			f.batch = f.batch[:n]
		}
		switch {
		case row.Size > left && left == most:
			return row.Size
		case row.Size > left:
			return 0
		}
		left -= row.Size
	}
	return 0
}

// Each calls each, until its first error, with the entities on the page. hold waits for memory for one that is large; the next call gives that back.
func (f *Found[S]) Each(hold func(bytes int64) error, each func(*S) error) error {
	for {
		for i := range f.batch {
			if err := each(&f.batch[i]); err != nil {
				return err
			}
		}
		clear(f.batch) // not in memory while the next batch waits for some
		if f.large {
			f.large = false
			_ = hold(0)
		}
		if len(f.keys) == 0 {
			return nil
		}
		if err := f.next(hold); err != nil {
			return err
		}
	}
}

// next reads the next batch.
func (f *Found[S]) next(hold func(bytes int64) error) error {
	for most := batchBytes; ; {
		view, done := f.state()
		larger := f.read(view, most)
		done()
		if larger == 0 {
			return nil
		}
		if err := hold(int64(larger)); err != nil { // no view is open while it waits
			return err
		}
		most, f.large = larger, true
	}
}
