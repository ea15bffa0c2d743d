package domain

// Overlay returns a State that reads through to base and keeps every change to itself: the pending changes of a group
// of commands that are being decided.
func Overlay(base State) State { return OverlayAt(base, new(uint64)) }

// OverlayAt is Overlay whose changes have revisions: seq holds the sequence of the event that is being folded.
func OverlayAt(base State, seq *uint64) State {
	return State{
		Profiles: overlay(base.Profiles, seq), Services: overlay(base.Services, seq), Devices: overlay(base.Devices, seq),
		Watchers: overlay(base.Watchers, seq), Users: overlay(base.Users, seq), Tokens: overlay(base.Tokens, seq),
		Subscriptions: overlay(base.Subscriptions, seq), IDs: overlay(base.IDs, seq), Uses: overlay(base.Uses, seq), Gone: overlay(base.Gone, seq),
		Seeds:         overlay(base.Seeds, seq),
		Notifications: overlay(base.Notifications, seq), Transmissions: overlay(base.Transmissions, seq),
		DataEvents: overlay(base.DataEvents, seq), Readings: overlay(base.Readings, seq), Cleanups: overlay(base.Cleanups, seq), Cursors: overlay(base.Cursors, seq),
		Answers: overlay(base.Answers, seq), AnswerOrder: overlay(base.AnswerOrder, seq),
	}
}

type overlayTable[S any] struct {
	base    Table[S]
	seq     *uint64               // of the event that is being folded
	pending map[string]pending[S] // nil where nothing has changed: most commands touch few tables
}

type pending[S any] struct {
	value   S
	present bool
	seq     uint64 // of the event that put it
}

func overlay[S any](base Table[S], seq *uint64) Table[S] {
	return &overlayTable[S]{base: base, seq: seq}
}

func (t *overlayTable[S]) Get(key string) (S, bool) {
	if p, ok := t.pending[key]; ok {
		return p.value, p.present
	}
	if t.base == nil { // a stream's own state has no tables of the other streams
		var none S
		return none, false
	}
	return t.base.Get(key)
}

func (t *overlayTable[S]) Revision(key string) uint64 {
	if p, ok := t.pending[key]; ok {
		return p.seq
	}
	return Revision(t.base, key)
}

func (t *overlayTable[S]) Put(key string, s S) { t.add(key, pending[S]{s, true, *t.seq}) }
func (t *overlayTable[S]) Delete(key string)   { t.add(key, pending[S]{}) }

func (t *overlayTable[S]) add(key string, p pending[S]) {
	if t.pending == nil {
		t.pending = map[string]pending[S]{}
	}
	t.pending[key] = p
}
