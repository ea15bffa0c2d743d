package web

import (
	"context"
	"sync"
	"time"
)

// storedSession is a session with its user and its times, which are monotonic.
type storedSession struct {
	user        string
	data        []byte
	begun, ends time.Time
}

// sessionStore is an scs.CtxStore in memory, with a bound. The end that scs gives to a session is a time of the clock, which may be set. So
// the store counts by itself how long a session was idle, and how long it has lived.
type sessionStore struct {
	idle  time.Duration
	ended func() // called when a session was removed; it does not use the store

	mu       sync.Mutex
	sessions map[string]storedSession
}

// newSession is the key of the user's name in the context of a commit that may begin a session. Other commits only change a session that is
// there: a request that is still under way after a logout does not bring the session back.
type newSession struct{}

// FindCtx implements scs.CtxStore.
func (s *sessionStore) FindCtx(_ context.Context, token string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[token]
	if !ok || !time.Now().Before(one.ends) {
		return nil, false, nil
	}
	return one.data, true, nil
}

// CommitCtx implements scs.CtxStore.
func (s *sessionStore) CommitCtx(ctx context.Context, token string, data []byte, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	one, known := s.sessions[token]
	if !known {
		user, begins := ctx.Value(newSession{}).(string)
		if !begins {
			return nil
		}
		one.user, one.begun = user, now
		s.makeRoom(user)
	}
	one.data, one.ends = data, now.Add(s.idle)
	if last := one.begun.Add(longestSession); last.Before(one.ends) {
		one.ends = last
	}
	s.sessions[token] = one
	return nil
}

// makeRoom removes sessions until a user may have one more. The caller holds the lock.
func (s *sessionStore) makeRoom(user string) {
	by := map[string]int{}
	for _, one := range s.sessions {
		by[one.user]++
	}
	most := user
	if by[user] < mostOfUser {
		if len(s.sessions) < mostSessions {
			return
		}
		for name, n := range by {
			if n > by[most] {
				most = name
			}
		}
	}
	first := ""
	for token, one := range s.sessions {
		if one.user == most && (first == "" || one.ends.Before(s.sessions[first].ends)) {
			first = token
		}
	}
	delete(s.sessions, first)
	s.ended()
}

// DeleteCtx implements scs.CtxStore.
func (s *sessionStore) DeleteCtx(_ context.Context, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.sessions[token]; known {
		delete(s.sessions, token)
		s.ended()
	}
	return nil
}

// Find implements scs.Store.
func (s *sessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit implements scs.Store.
func (s *sessionStore) Commit(token string, data []byte, until time.Time) error {
	return s.CommitCtx(context.Background(), token, data, until)
}

// Delete implements scs.Store.
func (s *sessionStore) Delete(token string) error {
	return s.DeleteCtx(context.Background(), token)
}
