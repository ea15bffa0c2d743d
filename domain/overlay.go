package domain

// Overlay returns a State that reads through to base and keeps every change to itself: the pending changes of a group
// of commands that are being decided.
func Overlay(base State) State {
	return State{
		Profiles: overlay(base.Profiles), Services: overlay(base.Services), Devices: overlay(base.Devices),
		Watchers:      overlay(base.Watchers),
		Subscriptions: overlay(base.Subscriptions), IDs: overlay(base.IDs), Uses: overlay(base.Uses), Seeds: overlay(base.Seeds),
		Notifications: overlay(base.Notifications), Transmissions: overlay(base.Transmissions),
		Readings: overlay(base.Readings), Cursors: overlay(base.Cursors),
	}
}

type overlayTable[S any] struct {
	base    Table[S]
	pending map[string]pending[S]
}

type pending[S any] struct {
	value   S
	present bool
}

func overlay[S any](base Table[S]) Table[S] {
	return &overlayTable[S]{base: base, pending: map[string]pending[S]{}}
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

func (t *overlayTable[S]) Put(key string, s S) { t.pending[key] = pending[S]{s, true} }
func (t *overlayTable[S]) Delete(key string)   { t.pending[key] = pending[S]{} }
