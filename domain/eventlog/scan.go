package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// take counts an event that was read, and adds it to the page if it is chosen. full says that the page has no room for it.
func (r *reading) take(e Event) (full bool) {
	size := len(e.Wire.Data)
	if r.Looked > 0 && (r.Looked >= r.Looks || r.read+size > r.Bytes) {
		return true
	}
	if r.Matches(e) && !r.show(e) {
		return true
	}
	r.Looked++
	r.read += size
	return false
}

// show adds an event to the page if there is room for it.
func (r *reading) show(e Event) bool {
	size := len(e.Wire.Data)
	if size > MostData {
		size = 0
	}
	switch {
	case r.Each != nil:
		r.Each(e)
	case r.found > 0 && r.shown+size > MostPageBytes:
		return false
	default:
		r.Events = append(r.Events, e)
	}
	r.found++
	r.shown += size
	return true
}

// isFull reports whether the page needs no further event.
func (r *reading) isFull() bool { return r.found >= r.Limit || r.Looked >= r.Looks }

// miss notes that events are missing.
func (r *reading) miss(m *Missing) {
	if r.Incomplete == "" {
		const text = "events %d to %d are in an archive that is missing or damaged; put it into the folder of the archives"
		r.Incomplete = fmt.Sprintf(text, m.From, m.To)
	}
}

// readAhead reads the span from its beginning.
func (r *reading) readAhead(ctx context.Context) error {
	for r.Next = r.from; r.Next <= r.to; {
		missing, err := r.readPart(ctx)
		if err != nil || missing == nil {
			return err
		}
		r.miss(missing)
		r.Next = max(r.Next, missing.To+1)
	}
	r.Next = r.behind
	return nil
}

// readPart reads the span from Next on, until the page is full or events are missing.
func (r *reading) readPart(ctx context.Context) (*Missing, error) {
	for e, err := range r.log.Read(ctx, r.Next, r.to) {
		if missing, ok := errors.AsType[*Missing](err); ok {
			return missing, nil
		}
		if err != nil {
			return nil, err
		}
		if r.Ends(e.Stored) {
			break
		}
		if r.take(e) {
			return nil, nil
		}
		if r.Next = e.Seq + 1; r.isFull() {
			return nil, nil
		}
	}
	r.Next = r.behind // events that were removed by age meanwhile are left out
	return nil, nil
}

// readBack reads the span from its end, in windows.
func (r *reading) readBack(ctx context.Context) error {
	window := uint64(r.Looks)
	for to := r.to; to >= r.from && to > 0 && r.Looked < r.Looks; {
		begin := max(r.from, to-min(to-1, min(window, uint64(r.Looks-r.Looked))-1))
		list, whole, err := r.readWindow(ctx, begin, to)
		if missing, ok := errors.AsType[*Missing](err); ok {
			r.miss(missing)
			if r.from = missing.To + 1; r.from > to {
				break
			}
			continue
		}
		if err != nil {
			return err
		}
		if !whole && window > 1 {
			window = max(window/8, 1)
			continue
		}
		for _, e := range slices.Backward(list) {
			if r.take(e) {
				return nil
			}
			if r.Next = r.before(e.Seq); r.isFull() {
				return nil
			}
		}
		to = begin - 1
		r.Next = r.before(begin)
	}
	return nil
}

// before returns the sequence before one; 0 if the span begins with it.
func (r *reading) before(seq uint64) uint64 {
	if seq <= r.from {
		return 0
	}
	return seq - 1
}

// readWindow reads some events in a row; whole is false if they have too many bytes to hold.
func (r *reading) readWindow(ctx context.Context, from, to uint64) (list []Event, whole bool, err error) {
	bytes := 0
	for e, err := range r.log.Read(ctx, from, to) {
		if err != nil {
			return nil, true, err
		}
		if bytes += len(e.Wire.Data); bytes > MostReadBytes && from < to {
			return nil, false, nil
		}
		list = append(list, e)
	}
	return list, true, nil
}
