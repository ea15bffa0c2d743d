package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
)

const (
	accountName  = "LEDGE"
	appendPrefix = "ledge.append."
	streamAPI    = "$JS.API.STREAM."
)

// The names of the three streams.
const (
	EventsStream        = "LEDGE_EVENTS"
	NotificationsStream = "LEDGE_NOTIFICATIONS"
	ReadingsStream      = "LEDGE_READINGS"
)

// stream is one of the three streams as it is meant to be.
type stream struct {
	name string
	// public is the prefix under which NATS clients see the events, ingest the private one under which they are appended.
	public, ingest string
	// forever: nothing is ever removed; what is in an archive may leave the log.
	forever bool
}

var streams = [...]stream{
	{name: EventsStream, public: "ledge.event.", ingest: appendPrefix + "event.", forever: true},
	{name: NotificationsStream, public: "ledge.notification.", ingest: appendPrefix + "notification."},
	{name: ReadingsStream, public: "ledge.reading.", ingest: appendPrefix + "reading."},
}

func (s *stream) damage(seq uint64, format string, args ...any) error {
	return &Damage{s.name, seq, fmt.Sprintf(format, args...)}
}

// filed checks that a message is stored under the subject in its headers, which the chain covers.
func (s *stream) filed(m Message) error {
	about := m.Header.Get(headerSubject)
	at, ok := strings.CutPrefix(m.Subject, s.public)
	ok = ok && len(at) == len(about)
	for i := 0; ok && i < len(at); i++ {
		ok = at[i] == about[i] && at[i] != '/' || at[i] == '.' && about[i] == '/'
	}
	if !ok {
		return s.damage(m.Seq, "it is stored under %s but is about %s", m.Subject, s.public+strings.ReplaceAll(about, "/", "."))
	}
	return nil
}

// storedToken ends the subject under which every event of a stream is stored: the server keeps an index entry in memory for each
// subject of a stream, for good, and nothing asks for it. What an event is about stands in ce-subject. Events of earlier versions are stored
// under their public subjects, which have two tokens or more after the stream's.
const storedToken = "entry"

// publicSubject is the subject under which NATS clients and users see an event that is stored under a subject and is about something.
func publicSubject(stored, about string) string {
	stream, ok := strings.CutSuffix(stored, storedToken)
	if !ok || strings.Count(stream, ".") != 2 || about == "" {
		return stored
	}
	return stream + strings.ReplaceAll(about, "/", ".")
}

// aboutIn is the ce-subject in a block of headers.
func aboutIn(headers []byte) string {
	_, rest, _ := bytes.Cut(headers, []byte("\r\n"+headerSubject+": "))
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(value)
}

// Info says where a log begins and ends.
type Info struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Chain string `json:"chain"` // hex
}

// Info returns where each log begins, and where it ends for queries, by stream: what is read up to there can be asked about.
func (s *Store) Info() map[string]Info {
	all := map[string]Info{}
	for _, l := range s.logs {
		last, chain := l.visible()
		all[l.name] = Info{l.First(), last, hex.EncodeToString(chain[:])}
	}
	return all
}

// InfoAfter waits until a log goes on behind a place or ctx ends, and returns Info.
func (s *Store) InfoAfter(ctx context.Context, after Place) map[string]Info {
	for {
		more, all := s.shown.next(), s.Info()
		for name, info := range all {
			if info.Last > after[name] {
				return all
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return all
		}
	}
}

// signal wakes all that wait for the next event of some kind.
type signal struct {
	mu   sync.Mutex
	more chan struct{} // nil while nobody waits
}

// next returns a channel that the next call of wake closes.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more == nil {
		s.more = make(chan struct{})
	}
	return s.more
}

func (s *signal) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}
