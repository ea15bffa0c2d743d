package main

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

// workload is some clients that change things all the time.
type workload struct {
	tb      testing.TB
	clients []*client
	acked   atomic.Int64 // requests, so far
	onAck   func()       // called by clients after each of them; nil is allowed
}

const clients = 5

func newWorkload(tb testing.TB, seed uint64) *workload {
	l := &workload{tb: tb}
	port := porttest.Hold(tb)
	for id := range clients {
		l.clients = append(l.clients, newClient(id, seed, port))
	}
	return l
}

// run has all clients work until something breaks off their connections, and calls then when n more requests have been
// acknowledged, while all others go on. Before that nothing may fail; after it only refused decides on refusals.
func (l *workload) run(p *process, n int, then func(), refused func(refusal)) {
	l.tb.Helper()
	var wg sync.WaitGroup
	var ending atomic.Bool
	reached, goal, failed := make(chan struct{}), l.acked.Load()+int64(n), make(chan error, len(l.clients))
	for _, c := range l.clients {
		wg.Go(func() {
			defer c.http.CloseIdleConnections()
			for {
				err := c.step(p)
				if no, ok := errors.AsType[refusal](err); ok && ending.Load() && refused != nil {
					refused(no)
					return
				} else if ok || err != nil && !ending.Load() {
					failed <- err
					return
				} else if err != nil {
					return
				}
				if l.onAck != nil {
					l.onAck()
				}
				if l.acked.Add(1) == goal {
					close(reached)
				}
			}
		})
	}
	select {
	case <-reached:
	case err := <-failed:
		l.tb.Fatalf("a client: %v\n%s", err, p.log)
	}
	ending.Store(true)
	then()
	wg.Wait()
	select {
	case err := <-failed:
		l.tb.Fatalf("a client: %v\n%s", err, p.log)
	default:
	}
}

// awaitMore waits, within run, for n more requests to be acknowledged.
func (l *workload) awaitMore(n int) {
	goal := l.acked.Load() + int64(n)
	until(l.tb, "more answers", func() bool { return l.acked.Load() >= goal })
}

// known is what was acknowledged at one moment: for each name, from which of the states that were asked for.
type known map[string]int

func (l *workload) known() known {
	k := known{}
	for _, c := range l.clients {
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

// acknowledged are the readings that were, so far.
func (l *workload) acknowledged() map[string]bool {
	all := map[string]bool{}
	for _, c := range l.clients {
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

// check asks p for every name and holds that each is as it was acknowledged, or as it was asked for later. It returns
// what it found.
func (l *workload) check(p *process, since known) (found map[string]int) {
	l.tb.Helper()
	found, err := l.find(p, since)
	if err != nil {
		l.tb.Fatal(err)
	}
	return found
}

// find is check with an error.
func (l *workload) find(p *process, since known) (found map[string]int, err error) {
	found = map[string]int{}
	for _, c := range l.clients {
		for k, pasts := range c.pasts {
			for _, name := range slices.Sorted(maps.Keys(pasts)) {
				a, err := tryCall("GET", c.kinds[k].url(p)+"/name/"+name, "", "")
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

// settle goes on from what was found. Of a request whose answer was lost, the first elements may have happened and the
// last not, but not the other way round.
func (l *workload) settle(found map[string]int) {
	l.tb.Helper()
	for _, c := range l.clients {
		missing := ""
		for _, one := range c.last {
			if happened := found[one.name] == one.state; happened && missing != "" {
				l.tb.Fatalf("%s is there, and %s, which stood before it in the same request, is not", one.name, missing)
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

// insist has every client send so many requests. Refusals are expected; a client ends with its connection.
func (l *workload) insist(p *process, each int) {
	var all sync.WaitGroup
	for _, c := range l.clients {
		all.Go(func() {
			defer c.http.CloseIdleConnections()
			for range each {
				select {
				case <-p.exited:
					return
				default:
					if err := c.step(p); err == nil && l.onAck != nil { // what was acknowledged is on record
						l.onAck()
					}
				}
			}
		})
	}
	all.Wait()
}
