package ledgetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"ledge/bridge/porttest"
)

// Workload is some clients that change things all the time.
type Workload struct {
	TB      testing.TB
	Clients []*client
	Acked   atomic.Int64 // requests, so far
	OnAck   func()       // called by clients after each of them; nil is allowed
}

const clients = 5

// NewWorkload returns a workload of several clients. The same seed gives the same requests.
func NewWorkload(tb testing.TB, seed uint64) *Workload {
	l := &Workload{TB: tb}
	port := porttest.Hold(tb)
	for id := range clients {
		l.Clients = append(l.Clients, newClient(id, seed, port))
	}
	return l
}

// Run has all clients work until something breaks off their connections, and calls then when n more requests have been
// acknowledged, while all others go on. Before that nothing may fail; after it only refused decides on refusals.
func (l *Workload) Run(p *Node, n int, then func(), refused func(Refusal)) {
	l.TB.Helper()
	var wg sync.WaitGroup
	var ending atomic.Bool
	reached, goal, failed := make(chan struct{}), l.Acked.Load()+int64(n), make(chan error, len(l.Clients))
	for _, c := range l.Clients {
		wg.Go(func() {
			defer c.http.CloseIdleConnections()
			for {
				err := c.step(p)
				if no, ok := errors.AsType[Refusal](err); ok && ending.Load() && refused != nil {
					refused(no)
					return
				} else if ok || err != nil && !ending.Load() {
					failed <- err
					return
				} else if err != nil {
					return
				}
				if l.OnAck != nil {
					l.OnAck()
				}
				if l.Acked.Add(1) == goal {
					close(reached)
				}
			}
		})
	}
	select {
	case <-reached:
	case err := <-failed:
		l.TB.Fatalf("a client: %v\n%s", err, p.Log)
	}
	ending.Store(true)
	then()
	wg.Wait()
	select {
	case err := <-failed:
		l.TB.Fatalf("a client: %v\n%s", err, p.Log)
	default:
	}
}

// AwaitMore waits, within run, for n more requests to be acknowledged.
func (l *Workload) AwaitMore(n int) {
	goal := l.Acked.Load() + int64(n)
	Until(l.TB, "more answers", func() bool { return l.Acked.Load() >= goal })
}

// Known is what was acknowledged at one moment: for each name, from which of the states that were asked for.
type Known map[string]int

// Known returns what was acknowledged until now.
func (l *Workload) Known() Known {
	k := Known{}
	for _, c := range l.Clients {
		c.note(func() {
			for _, pasts := range c.pasts {
				for name, p := range pasts {
					k[name] = p.acked
				}
			}
		})
	}
	return k
}

// Acknowledged are the readings that were, so far.
func (l *Workload) Acknowledged() map[string]bool {
	all := map[string]bool{}
	for _, c := range l.Clients {
		c.note(func() {
			for key, acked := range c.readings {
				if acked {
					all[key] = true
				}
			}
		})
	}
	return all
}

// Check asks p for every name and holds that each is as it was acknowledged, or as it was asked for later. It returns
// what it found.
func (l *Workload) Check(p *Node, since Known) (found map[string]int) {
	l.TB.Helper()
	found, err := l.Find(p, since)
	if err != nil {
		l.TB.Fatal(err)
	}
	return found
}

// Find is check with an error.
func (l *Workload) Find(p *Node, since Known) (found map[string]int, err error) {
	found = map[string]int{}
	for _, c := range l.Clients {
		for k, pasts := range c.pasts {
			for _, name := range slices.Sorted(maps.Keys(pasts)) {
				a, err := TryCall("GET", c.kinds[k].url(p)+"/name/"+name, "", "")
				if err != nil {
					return nil, err
				}
				state, err := c.kinds[k].state(a)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				if from := since[name]; !pasts[name].may(state, from) {
					return nil, fmt.Errorf("%s is in state %d; acknowledged was %d, asked for after that %v", name, state,
						pasts[name].asked[from], pasts[name].asked[from+1:])
				}
				found[name] = state
			}
		}
	}
	return found, nil
}

// Settle goes on from what was found. Of a request whose answer was lost, the first elements may have happened and the
// last not, but not the other way round.
func (l *Workload) Settle(found map[string]int) {
	l.TB.Helper()
	for _, c := range l.Clients {
		missing := ""
		for _, one := range c.last {
			if happened := found[one.name] == one.state; happened && missing != "" {
				l.TB.Fatalf("%s is there, and %s, which stood before it in the same request, is not", one.name, missing)
			} else if !happened {
				missing = one.name
			}
		}
		c.last = nil
		for _, pasts := range c.pasts {
			for name, p := range pasts {
				p.settle(found[name])
			}
		}
	}
}

// Insist has every client send so many requests. Refusals are expected; a client ends with its connection.
func (l *Workload) Insist(p *Node, each int) {
	var all sync.WaitGroup
	for _, c := range l.Clients {
		all.Go(func() {
			defer c.http.CloseIdleConnections()
			for range each {
				select {
				case <-p.Exited:
					return
				default:
					if err := c.step(p); err == nil && l.OnAck != nil { // what was acknowledged is on record
						l.OnAck()
					}
				}
			}
		})
	}
	all.Wait()
}
