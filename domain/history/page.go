package history

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ledge/domain"
)

const (
	// MostEntries is the number of entries of a page.
	MostEntries = 1000
	// MostPageBytes is the size of the values of a page. The values of a larger entry are left out.
	MostPageBytes = 2 << 20
	// mostLooks is the number of events that a page reads to look for the one before an event of an old version.
	mostLooks = 20_000
	// MostArchived is the number of events of one entity that a page, or a walk to an earlier moment, reads from archives. Each read goes
	// over its archive from the start.
	MostArchived = 10
	// entryBytes is about the size of an entry without its values.
	entryBytes = 300
)

// Notification is the entity that is not in Kinds, because its events are on the log of notifications.
const Notification = "notification"

// Query asks for a page of the history of a name.
type Query struct {
	Entity string `json:"entity"` // a key of Kinds, Notification, or with OfIdentities a key of Identities
	Name   string `json:"name"`
	Limit  int    `json:"limit"`
	// Before is the sequence below which the page begins; 0 for the newest.
	Before uint64 `json:"before,omitempty"`
	// OfIdentities has the entity be one of Identities too.
	OfIdentities bool `json:"ofIdentities,omitempty"`
	// Hide leaves out the addresses of actors.
	Hide bool `json:"-"`
}

// Page is a part of the history of a name, newest first.
type Page struct {
	Entries []Entry `json:"history"`
	// Before asks for the next page; 0 if the history ends here.
	Before uint64 `json:"before,omitempty"`
	// Incomplete says why earlier events are missing; "" if the page or a next one has them.
	Incomplete string `json:"incomplete,omitempty"`
}

// Entry is one event of an entity.
type Entry struct {
	Sequence uint64 `json:"sequence"`
	// Time is in milliseconds since the Unix epoch.
	Time          int64  `json:"time"`
	Type          string `json:"type"` // such as device.updated or user.password
	Actor         string `json:"actor"`
	Origin        string `json:"origin,omitempty"`
	CorrelationID string `json:"correlationId,omitempty"`
	// Omitted is the size in bytes of the values, if they are left out because they are too large for a page.
	Omitted int     `json:"omitted,omitempty"`
	Changes []Field `json:"changes"`
}

// Field is a value before and after an event; none if the value was empty, or if an old event does not have it.
type Field struct {
	Field string          `json:"field"`
	Was   json.RawMessage `json:"was,omitempty"`
	Is    json.RawMessage `json:"is,omitempty"`
}

// Check returns the first fault of a query.
func (q Query) Check() error {
	if q.Entity != Notification && q.kind() == nil {
		names := slices.AppendSeq([]string{Notification}, maps.Keys(Kinds))
		if q.OfIdentities {
			names = slices.AppendSeq(names, maps.Keys(Identities))
		}
		slices.Sort(names)
		return domain.Errorf(domain.NotFound, "entity %.80q is unknown; use one of %s", q.Entity, strings.Join(names, ", "))
	}
	if q.Limit < 1 || q.Limit > MostEntries {
		return domain.Errorf(domain.Invalid, "limit %d is out of range; use 1 to %d", q.Limit, MostEntries)
	}
	return nil
}

// kind returns the kind of the entity; nil for none.
func (q Query) kind() Kind {
	if k := Identities[q.Entity]; k != nil && q.OfIdentities {
		return k
	}
	return Kinds[q.Entity]
}

// Read returns a page.
func (s Source) Read(ctx context.Context, q Query) (p Page, err error) {
	if err := q.Check(); err != nil {
		return p, err
	}
	if q.Entity == Notification {
		return s.Notifications(ctx, q)
	}
	w := Walk{Log: s.Log, Kind: q.kind(), Name: q.Name, Looks: mostLooks}
	view, done := s.State()
	latest := LatestOf(view.State, w.Kind, q.Name)
	done()
	if w.Lives = latest.Lives; latest.Seq == 0 {
		return p, domain.Errorf(domain.NotFound, "%s %.80q does not exist and was never removed; correct the name", q.Entity, q.Name)
	}
	if err := w.Start(ctx, q.Before, latest.Seq); err != nil {
		return p, err
	}
	p.Entries = []Entry{}
	for bytes, archived := 0, 0; len(p.Entries) < q.Limit && archived < MostArchived; {
		at := w
		c, ok, err := w.Step(ctx)
		if err != nil || !ok {
			p.finish(&w)
			return p, err
		}
		e, size := NewEntry(q, c.Recorded, q.Entity+"."+c.Verb, c.Values())
		if bytes += size; bytes > MostPageBytes && len(p.Entries) > 0 {
			w = at
			break
		}
		if c.Seq < s.First() {
			archived++
		}
		p.Entries = append(p.Entries, e)
	}
	p.finish(&w)
	return p, nil
}

// finish notes how the walk ended.
func (p *Page) finish(w *Walk) {
	switch {
	case w.Next > 0 && len(p.Entries) > 0:
		p.Before = p.Entries[len(p.Entries)-1].Sequence
	case w.Next > 0:
		p.Before = w.Next + 1
	case w.Before > 0:
		p.Before = w.Before
	}
	switch {
	case w.End == Unread:
		p.Incomplete = "earlier events are in an archive that is missing or damaged; put it into the folder of the archives"
	case w.End == Unnamed && w.Looks == 0:
		p.Incomplete = fmt.Sprintf("none of the %d events before is of this name; read on with before=%d", mostLooks, w.Before)
	}
}

// NewEntry returns an event as an entry, with its size in bytes. typ has no version.
func NewEntry(q Query, r domain.Recorded, typ string, c domain.Changes) (e Entry, size int) {
	e = Entry{
		Sequence: r.Seq, Time: r.At.UnixMilli(), Type: typ, Actor: r.Actor, Origin: r.Origin, CorrelationID: r.CorrelationID,
		Changes: []Field{},
	}
	if q.Hide {
		e.Actor, e.Origin = domain.IdentityOf(r.Actor), ""
	}
	for leaf := range c.Leaves() {
		e.Changes = append(e.Changes, Field{leaf.Path, leaf.Was, leaf.Is})
		size += len(leaf.Path) + len(leaf.Was) + len(leaf.Is)
	}
	if size+entryBytes > MostPageBytes {
		e.Omitted, e.Changes, size = size, []Field{}, 0
	}
	return e, size + entryBytes
}
