package store

import (
	"fmt"
	"strings"

	"ledge/domain"
)

// linker verifies the chain from message to message. It trusts the first message that it sees, unless that is sequence 1.
type linker struct {
	log   *Log
	prev  Chain
	seq   uint64
	known bool
}

// linkFrom returns the linker for messages from a sequence on, and the sequence to read from. That is one earlier, unless the
// chain hash of the event before is known.
func (l *Log) linkFrom(from uint64) (k linker, start uint64) {
	if l.manifest != nil { // a running server has it
		at := from
		if at == 0 {
			at = l.First()
		}
		if k = l.linkerAt(at); k.known {
			return k, from
		}
	}
	k.log = l
	if from > 1 {
		from--
	}
	return k, from
}

// next verifies m against its predecessor. It returns everything but the decoded event.
func (k *linker) next(m Message) (domain.Recorded, error) {
	stored, ok := chainIn(m.Header)
	if !ok {
		return domain.Recorded{}, k.log.damage(m.Seq, "it has no readable %s", headerChain)
	}
	if v := m.Header.Get(headerSpec); v != specVersion {
		return domain.Recorded{}, k.log.damage(m.Seq, "%s is %q", headerSpec, v)
	}
	if m.Seq == 1 || (k.known && m.Seq == k.seq+1) {
		if nextChain(k.prev, m.Seq, m.Header, m.Data) != stored {
			return domain.Recorded{}, k.log.damage(m.Seq, "it is altered, or the one before it is not the one that it followed: the chain hash differs")
		}
	}
	k.prev, k.seq, k.known = stored, m.Seq, true
	st, err := stampOf(m.Header)
	if err != nil {
		return domain.Recorded{}, k.log.damage(m.Seq, "%v", err)
	}
	return domain.Recorded{Stamp: st, Seq: m.Seq, Chain: stored}, nil
}

// filed checks that a message is stored under the subject in its headers, which the chain covers.
func (l *Log) filed(m Message) error {
	about := m.Header.Get(headerSubject)
	at, ok := strings.CutPrefix(m.Subject, l.public)
	ok = ok && len(at) == len(about)
	for i := 0; ok && i < len(at); i++ {
		ok = at[i] == about[i] && at[i] != '/' || at[i] == '.' && about[i] == '/'
	}
	if !ok {
		return l.damage(m.Seq, "it is stored under %s but is about %s", m.Subject, l.public+strings.ReplaceAll(about, "/", "."))
	}
	return nil
}

// event decodes a message. One whose body cannot be decoded is a domain.Undecodable, and is noted.
func (l *Log) event(m Message) (domain.Event, error) {
	if err := l.filed(m); err != nil {
		return nil, err
	}
	e, err := domain.DecodeStored(wireOf(m.Header, m.Data))
	if err != nil {
		return nil, fmt.Errorf("%s: sequence %d: %w", l.name, m.Seq, err)
	}
	if u, ok := e.(domain.Undecodable); ok {
		l.skip(m.Seq, u)
	}
	return e, nil
}
