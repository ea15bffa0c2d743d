package zeromq

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// everybody is the id of the audience that admits every peer.
const everybody = 0

// tagBytes is the length of the id of an audience, which goes through zmq4 in front of the topic.
const tagBytes = 8

// audiences are those of one socket. A socket admits a peer if one of its audiences does; a message goes
// only to peers that its own audience admits.
type audiences struct {
	mu    sync.RWMutex
	last  uint64
	byKey map[string]*audience // those that channels have
	byID  map[uint64]*audience // these, and those with messages in flight; not everybody
}

func newAudiences() *audiences {
	return &audiences{byKey: map[string]*audience{}, byID: map[uint64]*audience{}}
}

// hold adds a channel. Each call that succeeds is followed by one of release.
func (s *audiences) hold(access Access) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.byKey[access.key()]; a != nil {
		a.channels++
		return nil
	}
	a, err := newAudience(access)
	if err != nil {
		return err
	}
	if a.channels = 1; !access.isOpen() {
		s.last++
		a.id = s.last
		s.byID[a.id] = a
	}
	s.byKey[a.key] = a
	return nil
}

// has reports whether a channel has this Access.
func (s *audiences) has(access Access) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byKey[access.key()] != nil
}

// release takes a channel away. It returns the audience if that was its last channel.
func (s *audiences) release(access Access) (gone *audience) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.byKey[access.key()]
	if a == nil {
		return nil
	}
	if a.channels--; a.channels > 0 {
		return nil
	}
	delete(s.byKey, a.key)
	s.forget(a)
	return a
}

// forget removes an audience that neither a channel nor a message needs; s.mu is held.
func (s *audiences) forget(a *audience) {
	if a.channels == 0 && a.inFlight == 0 {
		delete(s.byID, a.id)
	}
}

// find returns the audience of a channel, or nil.
func (s *audiences) find(access Access) *audience {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byKey[access.key()]
}

// send counts a message for an audience that goes to zmq4. The audience is kept until delivered is called.
func (s *audiences) send(a *audience) {
	if a.id == everybody {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.inFlight++
	s.byID[a.id] = a
}

// delivered is called for each message of send, when it is in all queues.
func (s *audiences) delivered(id uint64) {
	if id == everybody {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.byID[id]; a != nil {
		a.inFlight--
		s.forget(a)
	}
}

// admits reports whether an audience admits a peer.
func (s *audiences) admits(id uint64, who identity) bool {
	if id == everybody {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	a := s.byID[id]
	return a != nil && a.admits(who)
}

// admit reports whether an audience of a channel admits a peer. A peer with CURVE needs an audience that has its key, although it
// also receives what is for everybody.
func (s *audiences) admit(who identity) bool {
	return s.some(func(a *audience) bool { return a.needsCurve() == who.curve && a.admits(who) })
}

// offers reports which mechanisms a peer with this address may use.
func (s *audiences) offers(addr netip.Addr) (null, curve bool) {
	null = s.some(func(a *audience) bool { return !a.needsCurve() && a.allows(addr) })
	curve = s.some(func(a *audience) bool { return a.needsCurve() && a.allows(addr) })
	return null, curve
}

// allow reports whether an audience of a channel allows an address.
func (s *audiences) allow(addr netip.Addr) bool {
	return s.some(func(a *audience) bool { return a.allows(addr) })
}

func (s *audiences) some(is func(*audience) bool) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, a := range s.byKey {
		if is(a) {
			return true
		}
	}
	return false
}

// tagged returns a topic behind the id of its audience.
func tagged(id uint64, topic string) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, tagBytes+len(topic)), id)
	return append(b, topic...)
}
