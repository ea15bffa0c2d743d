package identity

import (
	"sync"
	"time"
)

// The bounds of a slowdown.
const (
	mostClients = 4096 // that have failed; as many pairs of client and name that have succeeded, and names
	mostNames   = 16   // of one client; failures with more names count for the client alone
	mostKey     = 128  // bytes of a name that is kept

	forgetAfter   = 15 * time.Minute // after the last failure, and after a success
	freeForName   = 3                // failures of a client with one name before it has to wait
	freeForClient = 10               // failures of a client with all names
	longestName   = 30 * time.Second
	longestClient = 8 * time.Second

	attackFailures = 20 // of a name from all clients
	attackPause    = 500 * time.Millisecond
)

// slowdown makes clients that fail wait.
type slowdown struct {
	mu      sync.Mutex
	clients *recent[*failing]
	names   *recent[failures]
	known   *recent[time.Time] // when a client last succeeded with a name, by both
}

// failing is what a client has failed at.
type failing struct {
	all   failures
	names *recent[failures]
}

// failures are counted until a time without one.
type failures struct {
	count int
	last  time.Time
}

func newSlowdown() *slowdown {
	return &slowdown{clients: newRecent[*failing](mostClients), names: newRecent[failures](mostClients), known: newRecent[time.Time](mostClients)}
}

// more returns the failures with one more.
func (f failures) more(now time.Time) failures {
	if now.Sub(f.last) > forgetAfter {
		f.count = 0
	}
	return failures{min(f.count+1, 1<<20), now}
}

// left returns how long the next try has to wait.
func (f failures) left(now time.Time, free int, longest time.Duration) time.Duration {
	if f.count < free || now.Sub(f.last) > forgetAfter {
		return 0
	}
	wait := min(time.Second<<min(f.count-free, 10), longest)
	return max(f.last.Add(wait).Sub(now), 0)
}

func pair(client, name string) string { return client + " " + name }

// cut bounds a name that somebody sent.
func cut(name string) string { return name[:min(len(name), mostKey)] }

// wait returns how long a client has to wait before its next try with a name.
func (s *slowdown) wait(client, name string, now time.Time) time.Duration {
	name = cut(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clients.get(client)
	if !ok {
		return 0
	}
	of, _ := c.names.get(name)
	wait := of.left(now, freeForName, longestName)
	if !s.isKnown(client, name, now) {
		wait = max(wait, c.all.left(now, freeForClient, longestClient))
	}
	return wait
}

// pause returns how long a client that has not failed waits for a name that is under attack.
func (s *slowdown) pause(client, name string, now time.Time) time.Duration {
	name = cut(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	of, _ := s.names.get(name)
	if of.count < attackFailures || now.Sub(of.last) > forgetAfter || s.isKnown(client, name, now) {
		return 0
	}
	return attackPause
}

// isKnown is called with the lock held.
func (s *slowdown) isKnown(client, name string, now time.Time) bool {
	at, ok := s.known.get(pair(client, name))
	return ok && now.Sub(at) <= forgetAfter
}

func (s *slowdown) failed(client, name string, now time.Time) {
	name = cut(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clients.get(client)
	if !ok {
		c = &failing{names: newRecent[failures](mostNames)}
	}
	c.all = c.all.more(now)
	of, _ := c.names.get(name)
	c.names.put(name, of.more(now))
	s.clients.put(client, c)
	all, _ := s.names.get(name)
	s.names.put(name, all.more(now))
}

// succeeded forgets the failures of a client with a name. Those with other names stay: else a client with one account
// could guess at others without end.
func (s *slowdown) succeeded(client, name string, now time.Time) {
	name = cut(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.put(pair(client, name), now)
	if c, ok := s.clients.get(client); ok {
		c.names.remove(name)
	}
}
