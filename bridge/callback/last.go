package callback

import "time"

// Call is the last call of a device service about entities of one kind, such as devices or provision watchers.
type Call struct {
	Kind, Entity, Method string
	Event                uint64 // that it tells of
	At                   time.Time
	Accepted             bool
	Answer               string // as much of it as clients may see, or why there is none
}

// lastCalls are the last calls since the start, by service and kind. They are no state: after a restart there are none.
type lastCalls map[string]map[string]Call

func (l lastCalls) forget(service string) { delete(l, service) }

// noteLast keeps a call and its answer.
func (c *Callbacks) noteLast(s *service, d due, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.gone {
		return
	}
	if c.last[s.name] == nil {
		c.last[s.name] = map[string]Call{}
	}
	c.last[s.name][a.kind] = Call{a.kind, a.entity, a.method, d.seq, c.Now(), a.accepted(), a.String()}
}

// LastCalls returns the last call of a device service for each kind of entity, and how many calls wait for the service.
func (c *Callbacks) LastCalls(service string) (calls []Call, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.last[service] {
		calls = append(calls, one)
	}
	if s := c.services[service]; s != nil {
		waiting = len(s.waiting)
	}
	return calls, waiting
}
