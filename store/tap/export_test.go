package tap

import (
	"fmt"
	"time"
)

// Copies returns how often a live message is sent.
func (s *Server) Copies(subject string) int { return s.copies(subject) }

// Pending returns the bytes that wait for all clients.
func (s *Server) Pending() int64 {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.measure()
	return s.memory.queued
}

// PendingOf returns the bytes that wait for the client on a connection of the server.
func (s *Server) PendingOf(cid uint64) int64 { return s.memory.pending(cid) }

// HistoryURL is where taps read the streams by direct get, and ask "ledge.info" for where these begin and end, in open mode.
func (s *Server) HistoryURL() string {
	return "nats://" + historyUser + ":" + historyUser + "@" + s.listener.Addr().String()
}

// HistoryStalls sets how long a connection may read nothing before it is cut off.
func (s *Server) HistoryStalls(d time.Duration) {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	s.history.stalls = d
}

// The bounds of history.
const (
	AsksOfClient  = asksOfClient
	BatchBytes    = batchBytes
	ReadersWindow = readersWindow
)

// Greedy returns which connection is cut off when one of a client's asks: "" for none, else "client/n". asks are the requests that
// wait, by client and connection.
func Greedy(asks map[string][]int, client string) string {
	h, names, cid := newHistory(nil, nil), map[*reader]string{nil: ""}, uint64(0)
	for name, conns := range asks {
		for i, n := range conns {
			cid++
			r := &reader{cid: cid, client: name, asks: make([]*request, n)}
			h.readers[cid], names[r] = r, fmt.Sprintf("%s/%d", name, i)
			h.waiting += n
		}
	}
	return names[h.greedy(client)]
}
