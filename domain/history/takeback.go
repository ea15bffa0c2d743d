package history

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"ledge/domain"
)

// takeBack takes events back, the newest first. From the current entities and the removed ones it gets those before the events.
type takeBack struct {
	*overlay
	of    map[string]*taken
	bytes int
	left  int // the number of events that may still be read
}

// taken is an entity before the events that are taken back.
type taken struct {
	text     []byte // JSON; nil if it was not there, or is not known
	unknown  bool   // only earlier events have it
	exact    bool   // text has its modified time
	revision uint64 // 0 if it was not there, or is not known
	modified int64  // of text
	entity   any    // while a window is taken back
	size     int    // bytes that are counted for it
}

const (
	// windowEvents and windowBytes bound the events that are in memory at a time.
	windowEvents = 8192
	windowBytes  = 16 << 20
)

// readWindows calls f with the changes of the kind from one sequence to another, in windows, the newest first, until it returns false. In a
// window the oldest is the first. After a window of which only a part has fitted into memory, the next one is as small as that part, and
// further ones grow again, so that few events are read twice.
func (t *takeBack) readWindows(
	ctx context.Context, from, to uint64, skips func(Change) bool, f func(window []Change) (more bool, err error),
) error {
	size := uint64(windowEvents)
	for more := true; more && to >= from; {
		low := from
		if to-from >= size {
			low = to - size + 1
		}
		first := low
		if t.left -= int(to - low + 1); t.left < 0 {
			return t.tooMuch("events of older versions do not name the event before, and %d events are searched at most", MostTakenBack)
		}
		window, err := t.readWindow(ctx, &low, to, skips)
		if err == nil {
			more, err = f(window)
		}
		if err != nil {
			return err
		}
		if size = min(2*size, windowEvents); low > first {
			size = to - low + 1
		}
		to = low - 1
	}
	return nil
}

// readWindow reads the changes from a sequence to another. It leaves out the oldest if they take too much memory, and then moves low.
func (t *takeBack) readWindow(
	ctx context.Context, low *uint64, to uint64, skips func(Change) bool,
) (window []Change, err error) {
	bytes := 0
	err = t.past.Log.Read(ctx, *low, to, func(r domain.Recorded) error {
		c, ok := t.kind.Read(r)
		if !ok || skips(c) {
			return nil
		}
		window = append(window, c)
		for bytes += c.event.size(); bytes > windowBytes && len(window) > 1; window = window[1:] {
			bytes -= window[0].event.size()
			t.left += int(window[1].Seq - *low)
			*low = window[1].Seq
		}
		return nil
	})
	if errors.Is(err, ErrUnread) {
		err = unreadError(t.asOf)
	}
	return window, err
}

func unreadError(asOf uint64) error {
	const says = "the state as of event %d cannot be shown: an archive is missing or damaged; put it into the folder of the archives"
	return domain.Errorf(domain.Unavailable, says, asOf)
}

// skipsName reports whether a change is of a name that the overlay has.
func (t *takeBack) skipsName(c Change) bool {
	_, known := t.overlay.of[c.name]
	return known
}

// add takes back a window.
func (t *takeBack) add(ctx context.Context, window []Change) error {
	within := map[string]*taken{}
	var missing []Change
	for _, c := range slices.Backward(window) {
		if within[c.name] != nil {
			continue
		}
		one := t.of[c.name]
		if one == nil {
			one = &taken{}
			missing = append(missing, c)
		}
		within[c.name] = one
	}
	for _, one := range within {
		if one.text != nil {
			var err error
			if one.entity, err = t.kind.decode(one.text); err != nil {
				return err
			}
		}
	}
	if err := t.load(ctx, missing, within); err != nil {
		return err
	}
	for _, c := range slices.Backward(window) {
		within[c.name].takeBack(c)
	}
	for name, one := range within {
		t.of[name] = one
		if err := t.pack(name, one); err != nil {
			return err
		}
	}
	return nil
}

// load gets the entities after the last changes of names. The state has an entity if that has not changed since.
func (t *takeBack) load(ctx context.Context, last []Change, into map[string]*taken) error {
	last = slices.DeleteFunc(last, func(c Change) bool { return c.Verb != Updated })
	later := t.loadCurrent(last, into)
	for _, c := range later {
		entity, _, err := t.past.entityAt(ctx, t.kind, c.name, c.Seq)
		if err != nil {
			return err
		}
		into[c.name].entity = entity
	}
	return nil
}

// loadCurrent gets the entities of the state, and returns the changes that others have followed.
func (t *takeBack) loadCurrent(last []Change, into map[string]*taken) (later []Change) {
	view, done := t.past.State()
	defer done()
	for _, c := range last {
		if entity, revision, ok := t.kind.Current(view.State, c.name); ok && revision == c.Seq {
			into[c.name].entity = entity
		} else {
			later = append(later, c)
		}
	}
	return later
}

// takeBack makes the entity the one before a change.
func (one *taken) takeBack(c Change) {
	one.entity = c.Before(one.entity)
	one.revision, one.exact = c.Prev, c.event.hasModified()
	one.unknown = one.entity == nil && c.Verb == Updated
	if c.Verb == Added {
		one.revision = 0 // of the removal before
	}
}

// pack replaces an entity by its text. It refuses more memory than an answer may take.
func (t *takeBack) pack(name string, one *taken) (err error) {
	if one.text = nil; one.entity != nil {
		if one.text, err = t.kind.encode(one.entity); err != nil {
			return err
		}
		one.modified = domain.ModifiedOf(one.entity)
	}
	one.entity = nil
	t.bytes -= one.size
	one.size = formerBytes + len(name) + len(one.text)
	if t.bytes += one.size; t.overlay.bytes+t.bytes > MostFormerBytes {
		return t.tooMuch("what has changed since takes more than %d bytes", MostFormerBytes)
	}
	return nil
}

// complete reads events up to asOf: an update does not have the modified time before it, and events of older versions may not name the
// event before.
func (t *takeBack) complete(ctx context.Context) error {
	searched := map[string]*search{}
	t.left = MostTakenBack
	archived := 0
	var inexact []string
	for name, one := range t.of {
		if !one.exact && one.revision > 0 && one.revision < t.past.First() {
			archived++
		}
		switch {
		case one.text == nil && !one.unknown: // it was not there
		case one.unknown || one.revision == 0 || !one.exact && archived > MostArchived:
			searched[name] = &search{taken: one}
		case !one.exact:
			inexact = append(inexact, name)
		}
	}
	if err := t.completeEach(ctx, inexact); err != nil {
		return err
	}
	if len(searched) == 0 {
		return nil
	}
	if err := t.searchBack(ctx, searched); err != nil {
		return err
	}
	for name, s := range searched {
		s.finish()
		if err := t.pack(name, s.taken); err != nil {
			return err
		}
	}
	return nil
}

const (
	// mostApart is the distance of two events up to which a read of all events between them costs less than a read of each of the two.
	mostApart = 8
	// fewestTogether is the number of events near one another from which they are read together.
	fewestTogether = 8
)

// completeEach gets the modified times of entities from the events that have put them.
func (t *takeBack) completeEach(ctx context.Context, names []string) error {
	if t.left -= len(names); t.left < 0 {
		return t.tooMuch("for each changed entity an event is read, and %d are read at most", MostTakenBack)
	}
	revision := func(i int) uint64 { return t.of[names[i]].revision }
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(t.of[a].revision, t.of[b].revision) })
	for len(names) > 0 {
		n := 1
		for n < len(names) && revision(n)-revision(n-1) <= mostApart {
			n++
		}
		read := t.completeTogether
		if n < fewestTogether {
			n, read = 1, t.completeAlone
		}
		if err := read(ctx, names[:n]); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// completeAlone is completeTogether for one entity.
func (t *takeBack) completeAlone(ctx context.Context, names []string) error {
	r, ok, err := t.past.Log.At(ctx, t.of[names[0]].revision)
	switch {
	case err != nil:
		return err
	case !ok:
		return unreadError(t.asOf)
	}
	return t.completeFrom(names[0], r)
}

// completeTogether reads the events of entities with all events between them. The names are in the order of the events.
func (t *takeBack) completeTogether(ctx context.Context, names []string) error {
	from, to := t.of[names[0]].revision, t.of[names[len(names)-1]].revision
	err := t.past.Log.Read(ctx, from, to, func(r domain.Recorded) error {
		if len(names) == 0 || r.Seq != t.of[names[0]].revision {
			return nil
		}
		name := names[0]
		names = names[1:]
		return t.completeFrom(name, r)
	})
	if errors.Is(err, ErrUnread) || err == nil && len(names) > 0 {
		err = unreadError(t.asOf)
	}
	return err
}

// completeFrom gets the modified time of an entity from the event that has put it.
func (t *takeBack) completeFrom(name string, r domain.Recorded) (err error) {
	one := t.of[name]
	c, ok := t.kind.Read(r)
	if !ok || c.name != name {
		return unreadError(t.asOf)
	}
	if one.entity, err = t.kind.decode(one.text); err != nil {
		return err
	}
	one.entity = c.After(one.entity)
	return t.pack(name, one)
}

// search looks for the last event of a name up to asOf, and for those before it that it rests on.
type search struct {
	*taken
	found   bool
	updates []Change // the newest first
}

// searchBack reads the log from asOf to its start, until all that is searched is found.
func (t *takeBack) searchBack(ctx context.Context, searched map[string]*search) error {
	open := len(searched)
	skips := func(c Change) bool { return searched[c.name] == nil || searched[c.name].found }
	return t.readWindows(ctx, 1, t.asOf, skips, func(window []Change) (more bool, err error) {
		for _, c := range slices.Backward(window) {
			s := searched[c.name]
			if s.found {
				continue
			}
			if err := t.match(s, c); err != nil {
				return false, err
			}
			if s.found {
				open--
			}
		}
		return open > 0, nil
	})
}

// match takes an event up to asOf; events come newest first.
func (t *takeBack) match(s *search, c Change) (err error) {
	if len(s.updates) == 0 {
		s.revision = c.Seq
	}
	if !s.unknown { // only the revision and the modified time are searched
		if s.entity, err = t.kind.decode(s.text); err != nil {
			return err
		}
		s.entity, s.found = c.After(s.entity), true
		return nil
	}
	s.entity = c.event.entityFrom(nil)
	if s.found = s.entity != nil || c.Verb == Removed; !s.found {
		s.updates = append(s.updates, c)
	}
	return nil
}

// finish applies the updates to the entity that was found. An entity that was not found was not there.
func (s *search) finish() {
	if !s.found || s.entity == nil {
		s.entity, s.revision = nil, 0
		return
	}
	for _, c := range slices.Backward(s.updates) {
		s.entity = c.event.entityFrom(s.entity)
	}
}
