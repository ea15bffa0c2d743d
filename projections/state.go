package projections

import (
	"ledge/domain"
	"ledge/projections/fold"
)

// View is the state, with lists. One goroutine at a time may use it, until it is released; what it has returned stays good.
//
// All that is read from a View before its first list is as of one checkpoint, that at the call of [DB.View] or a later
// one. That list and all that is read after it, lists or not, are as of one checkpoint too, which is the same one or a later
// one. A View holds a transaction: release it soon.
type View struct {
	// State has the tables of this file; those of the other streams are nil.
	domain.State
	*fold.View
	d *DB
}

// View returns a view of all that was applied before the call, and a function that lets go of it: call it soon, and
// before Apply. It panics with [ErrClosed] after Close.
func (d *DB) View() (*View, func()) {
	v, release := d.DB.View()
	return &View{state(d.tables, source{view: v}), v, d}, release
}

// State returns the tables of this file at the checkpoint, for deciding, and a function that lets go of them: call it
// soon, and before Apply. The tables of the other streams are nil. Those of answers are in no View: only deciding asks
// for them. One goroutine at a time may use a State; each row of the file is read and decoded once. What it returns stays good after the
// release, and is shared: do not change it.
//
// A Get that meets damage panics with an error of code Unavailable, and the State ends: there is no answer that a decision could rest on.
func (d *DB) State() (domain.State, func()) {
	v, release := d.DB.View()
	from := source{view: v}
	s := state(d.tables, from)
	s.Answers, s.AnswerOrder = table(answers, from), table(answerOrder, from)
	return s, release
}

// source is where tables are: in a batch, or in a view.
type source struct {
	batch *fold.Batch
	view  *fold.View
}

// state returns the tables of a file, but those of answers.
func state(t Tables, from source) domain.State {
	switch t {
	case Events:
		return domain.State{
			Profiles: table(profiles, from), Services: table(services, from), Devices: table(devices, from), Watchers: table(watchers, from),
			Users: table(users, from), Tokens: table(tokens, from), Subscriptions: table(subscriptions, from),
			IDs: table(ids, from), Uses: table(uses, from), Gone: table(gone, from), Seeds: table(seeds, from),
		}
	case Notifications:
		return domain.State{
			Notifications: table(notifications, from), Transmissions: table(transmissions, from),
			Cleanups: table(cleanups, from), Cursors: table(cursors, from),
		}
	default:
		return domain.State{DataEvents: table(dataEvents, from), Readings: table(readings, from), Cleanups: table(cleanups, from)}
	}
}

func table[S any](t *fold.Table[S], from source) domain.Table[S] {
	if from.batch != nil {
		return t.In(from.batch)
	}
	return &rows[S]{t.Rows(from.view)}
}

// rows is a table of a View: for reading.
type rows[S any] struct{ fold.Rows[S] }

// Put panics.
func (t *rows[S]) Put(string, S) { panic("projections: put on a state; put on a copy of it") }

// Delete panics.
func (t *rows[S]) Delete(string) { panic("projections: delete on a state; delete on a copy of it") }

// GetWithin implements domain.Sized. What it reads is not kept.
func (t *rows[S]) GetWithin(name string, most int, into *S) domain.Row {
	row := t.Raw(name)
	if row == nil {
		return domain.Row{}
	}
	r := domain.Row{Size: domain.SizeInWork(row)}
	if r.Size > most {
		return r
	}
	*into, r.Revision = t.Parse(name, row)
	r.OK = true
	return r
}
