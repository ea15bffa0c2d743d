package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"ledge/domain"
)

// tapRecheck is how often it is looked whether the identities of connected clients still have their rights.
const tapRecheck = 10 * time.Second

// RecheckTaps ends the connections of those clients of the tap whose identity has lost its rights; see Options.Still. It is called when users or
// tokens have changed.
func (t *tapServer) RecheckTaps() {
	if t.taps != nil {
		t.taps.recheck(false)
	}
}

// TapRefusals returns how many connections the tap has refused or ended since the start, by reason.
func (t *tapServer) TapRefusals() map[string]uint64 {
	if t.taps == nil {
		return nil
	}
	r := t.taps.refused
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// recheckAgain rechecks until ctx ends. What the program cannot tell of a token by its name, such as when a JWT expires, a new check
// of the token tells.
func (d *proxy) recheckAgain(ctx context.Context) {
	tick := time.NewTicker(tapRecheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.recheck(true)
		}
	}
}

// recheck ends the connections of the identities that have lost their rights. With tokens, each token is checked anew.
func (d *proxy) recheck(tokens bool) {
	for v, a := range d.identified() {
		if !d.still(a.identity) || tokens && d.expired(v, a) {
			d.end(v)
		}
	}
}

// identified returns the sessions with an identity.
func (d *proxy) identified() map[*session]access {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[*session]access{}
	for v := range d.sessions {
		if v.access.identity.Actor != "" {
			all[v] = v.access
		}
	}
	return all
}

// expired reports whether a token is refused now, or stands for another identity. A check that is put off, because others fail too often
// from the same address, says nothing.
func (d *proxy) expired(v *session, a access) bool {
	if a.token == "" {
		return false
	}
	ctx, cancel := v.limited(tapCheckWait)
	defer cancel()
	now, err := d.check(ctx, "", "", a.token, v.client)
	if err != nil {
		var known *domain.Error
		return errors.As(err, &known) && (known.Code == domain.Unauthenticated || known.Code == domain.Forbidden)
	}
	was := a.identity
	return now.Actor != was.Actor || now.Role != was.Role || !slices.Equal(now.Devices, was.Devices)
}

// end cuts off a client whose identity has lost its rights.
func (d *proxy) end(v *session) {
	d.log.Warn("tap cut off: its identity has lost its rights, or has new credentials", "client", v.client, "actor", v.access.identity.Actor)
	d.refused.count(byEnd)
	d.mu.Lock()
	d.leave(v)
	d.mu.Unlock()
	v.close()
}
