package projections

import (
	"errors"

	"ledge/domain"
)

// State returns the tables of this file at the checkpoint, for deciding, and a function that lets go of them: call it
// soon, and before Apply. The tables of the other streams are nil. Those of answers are in no View: only deciding asks
// for them. One goroutine at a time may use a State; each row of
// the file is read and decoded once. What it returns stays good after the release, and is shared: do not change it.
//
// A Get that meets damage panics with an error of code Unavailable, and the State ends: there is no answer that a decision could rest on.
func (d *DB) State() (domain.State, func()) {
	v, release := d.View()
	var t struct {
		answers     snapshot[domain.Answer]
		answerOrder snapshot[string]
	}
	v.Answers, v.AnswerOrder = t.answers.of(answers, v), t.answerOrder.of(answerOrder, v)
	if v.rows != nil {
		v.cursor = v.rows.Cursor()
	}
	return v.State, release
}

// View returns a view of all that was applied before the call, and a function that lets go of it: call it soon, and
// before Apply. It panics with [ErrClosed] after Close.
func (d *DB) View() (*View, func()) {
	v := &View{d: d}
	if err := v.look(); errors.Is(err, ErrClosed) {
		panic(ErrClosed)
	}
	switch d.tables {
	case Events:
		var t struct {
			profiles      snapshot[domain.Profile]
			services      snapshot[domain.DeviceService]
			devices       snapshot[domain.Device]
			watchers      snapshot[domain.ProvisionWatcher]
			subscriptions snapshot[domain.Subscription]
			users         snapshot[domain.User]
			tokens        snapshot[domain.Token]
			ids           snapshot[string]
			uses          snapshot[int]
			seeds         snapshot[bool]
		}
		v.State = domain.State{
			Profiles: t.profiles.of(profiles, v), Services: t.services.of(services, v), Devices: t.devices.of(devices, v),
			Watchers: t.watchers.of(watchers, v), Users: t.users.of(users, v), Tokens: t.tokens.of(tokens, v),
			Subscriptions: t.subscriptions.of(subscriptions, v), IDs: t.ids.of(ids, v), Uses: t.uses.of(uses, v), Seeds: t.seeds.of(seeds, v),
		}
	case Notifications:
		var t struct {
			notifications snapshot[domain.Notification]
			transmissions snapshot[domain.Transmission]
			cleanups      snapshot[domain.Cleanup]
			cursors       snapshot[uint64]
		}
		v.State = domain.State{
			Notifications: t.notifications.of(notifications, v), Transmissions: t.transmissions.of(transmissions, v),
			Cleanups: t.cleanups.of(cleanups, v), Cursors: t.cursors.of(cursors, v),
		}
	case Readings:
		var t struct {
			events   snapshot[domain.DataEvent]
			readings snapshot[domain.Reading]
			cleanups snapshot[domain.Cleanup]
		}
		v.State = domain.State{DataEvents: t.events.of(dataEvents, v), Readings: t.readings.of(readings, v), Cleanups: t.cleanups.of(cleanups, v)}
	}
	return v, func() { v.once.Do(v.end) }
}

// snapshot is a table of a View, with what was read from the file.
type snapshot[S any] struct {
	*kind[S]
	v     *View
	looks int                  // of the view, when known was read
	known map[string]*found[S] // what is there
	key   []byte
}

type found[S any] struct {
	value S
	ok    bool
	seq   uint64 // of the event that put it; tables without indexes do not keep it
}

// of makes it the table of a kind.
func (t *snapshot[S]) of(k *kind[S], v *View) *snapshot[S] {
	t.kind, t.v = k, v
	return t
}

// Get implements domain.Table.
func (t *snapshot[S]) Get(key string) (S, bool) {
	f := t.row(key)
	return f.value, f.ok
}

// Revision implements domain.Revised.
func (t *snapshot[S]) Revision(key string) uint64 { return t.row(key).seq }

// row returns what is there at a name. It keeps that.
func (t *snapshot[S]) row(name string) (f found[S]) {
	if t.looks != t.v.looks {
		t.looks, t.known = t.v.looks, nil
	}
	if f := t.known[name]; f != nil {
		return *f
	}
	t.key = appendRow(t.key[:0], t.id, name)
	row := t.v.row(t.key)
	if row == nil {
		return f
	}
	f.ok = true
	t.v.must(func() error { f.value, f.seq = t.mustParse(t.key[1:], row); return nil })
	if t.known == nil {
		t.known = map[string]*found[S]{}
	}
	t.known[name] = &f
	return f
}

// GetWithin implements domain.Sized. What it reads is not kept.
func (t *snapshot[S]) GetWithin(name string, most int, into *S) domain.Row {
	t.key = appendRow(t.key[:0], t.id, name)
	row := t.v.row(t.key)
	if row == nil {
		return domain.Row{}
	}
	r := domain.Row{Size: rowInWork(row)}
	if r.Size > most {
		return r
	}
	t.v.must(func() error { *into, r.Revision = t.mustParse(t.key[1:], row); return nil })
	r.OK = true
	return r
}

// Put panics: a State is for reading.
func (t *snapshot[S]) Put(string, S) { panic("projections: put on a state; put on a copy of it") }

// Delete panics: a State is for reading.
func (t *snapshot[S]) Delete(string) {
	panic("projections: delete on a state; delete on a copy of it")
}
