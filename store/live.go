package store

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// live publishes recorded events under their public subjects, for taps: it is handed them after their answers, so that
// no answer waits for a tap, and publishes at most once. A tap that sees a gap in Nats-Sequence reads the log.
type live struct {
	log    *Log
	groups chan liveGroup
	letter letter
	// before is the last sequence on a subject, as far as it is known: of two generations, the older is forgotten when
	// the newer is full. all is true while nothing was forgotten and nothing was there before.
	newer, older map[string]uint64
	all          bool
}

type liveGroup struct {
	run []entry
	at  time.Time
}

const (
	// liveBacklog is how many groups may wait to be published; with more, the next append waits, and no answer to one
	// that was made.
	liveBacklog = 4
	// generation is how many subjects one generation of live.before holds.
	generation = 8192
)

func newLive(l *Log, empty bool) *live {
	return &live{log: l, groups: make(chan liveGroup, liveBacklog), newer: map[string]uint64{}, older: map[string]uint64{}, all: empty}
}

func (v *live) add(run []entry) { v.groups <- liveGroup{run, time.Now()} }

func (v *live) close() { close(v.groups) }

func (v *live) run() {
	nc := v.log.store.node.live
	for g := range v.groups {
		if !v.log.store.node.tapped() {
			for _, e := range g.run {
				v.before(v.subject(e), e.Seq)
			}
			continue
		}
		at := g.at.UTC().Format(time.RFC3339Nano)
		for _, e := range g.run {
			_ = nc.PublishMsg(v.message(e, at)) // a lost one shows in the sequence
		}
		_ = nc.Flush()
	}
}

// subject is the public name of what was appended under the private one.
func (v *live) subject(e entry) string {
	return v.log.public + strings.TrimPrefix(e.subject, v.log.ingest)
}

// message adds what NATS' own republishing adds. Nats-Time-Stamp is when we had the acknowledgement;
// Nats-Last-Sequence is left out where it is not known.
func (v *live) message(e entry, at string) *nats.Msg {
	subject := v.subject(e)
	h := e.header
	h.set("Nats-Stream", v.log.name)
	h.set("Nats-Sequence", strconv.FormatUint(e.Seq, 10))
	h.set("Nats-Time-Stamp", at)
	if before, known := v.before(subject, e.Seq); known {
		h.set("Nats-Last-Sequence", strconv.FormatUint(before, 10))
	}
	return v.letter.of(subject, h, e.data)
}

// before returns the sequence before seq on a subject, 0 for none, and notes seq.
func (v *live) before(subject string, seq uint64) (before uint64, known bool) {
	before, known = v.newer[subject]
	if !known {
		before, known = v.older[subject]
	}
	if len(v.newer) >= generation {
		v.all = v.all && len(v.older) == 0
		clear(v.older)
		v.newer, v.older = v.older, v.newer
	}
	v.newer[subject] = seq
	return before, known || v.all
}
