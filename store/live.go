package store

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// live publishes recorded events under their public subjects, for taps. It is handed them after their answers and
// publishes at most once: neither an answer nor an append waits for a tap. What finds no room is dropped for all taps, and
// shows as a gap in Nats-Sequence.
type live struct {
	log    *Log
	groups chan liveGroup
	bytes  atomic.Int64 // in groups
	letter letter
	last   uint64 // the sequence that was published last
	// before is the last sequence on a subject, as far as it is known: of two generations, the older is forgotten when
	// the newer is full. all is true while nothing was forgotten and nothing was there before.
	newer, older map[string]uint64
	all          bool
}

type liveGroup struct {
	run   []entry
	at    time.Time
	bytes int64
}

const (
	// feedGroups and feedBytes bound what may wait to be published of one stream.
	feedGroups = 1024
	feedBytes  = 16 << 20
	// generation is how many subjects one generation of live.before holds.
	generation = 8192
)

func newLive(l *Log, empty bool) *live {
	return &live{log: l, groups: make(chan liveGroup, feedGroups), newer: map[string]uint64{}, older: map[string]uint64{}, all: empty}
}

// add hands over a group. It never waits.
func (v *live) add(run []entry) {
	g := liveGroup{run: run, at: time.Now()}
	for i := range run {
		g.bytes += int64(run[i].size)
	}
	if v.bytes.Add(g.bytes) <= feedBytes || len(v.groups) == 0 {
		select {
		case v.groups <- g:
			return
		default:
		}
	}
	v.bytes.Add(-g.bytes)
	v.dropped("taps take less than is recorded", run)
}

func (v *live) dropped(why string, run []entry) {
	v.log.store.o.Logger.Warn("live messages dropped; taps find them in history", "stream", v.log.name, "reason", why,
		"from", run[0].Seq, "to", run[len(run)-1].Seq)
}

func (v *live) close() { close(v.groups) }

func (v *live) run() {
	taps := v.log.store.taps
	for g := range v.groups {
		if g.run[0].Seq != v.last+1 && v.last != 0 {
			clear(v.newer)
			clear(v.older)
			v.all = false
		}
		v.last = g.run[len(g.run)-1].Seq
		v.publish(taps, g)
		v.bytes.Add(-g.bytes)
	}
}

func (v *live) publish(taps *taps, g liveGroup) {
	tapped, at := taps.tapped(), g.at.UTC().Format(time.RFC3339Nano)
	for i, e := range g.run {
		subject := v.subject(e)
		before, known := v.before(subject, e.Seq)
		if !tapped {
			continue
		}
		if m := v.message(e, subject, at, before, known); taps.room(subject, m.Size()) {
			_ = taps.feed.PublishMsg(m) // a lost one shows in the sequence
		} else {
			v.dropped("too much waits for taps", g.run[i:i+1])
		}
	}
	if tapped {
		_ = taps.feed.Flush()
	}
}

// subject is the public name of what was appended under the private one.
func (v *live) subject(e entry) string {
	return v.log.public + strings.TrimPrefix(e.subject, v.log.ingest)
}

// message adds what NATS' own republishing adds. Nats-Time-Stamp is when we had the acknowledgement;
// Nats-Last-Sequence is left out where it is not known.
func (v *live) message(e entry, subject, at string, before uint64, known bool) *nats.Msg {
	h := e.header
	h.set("Nats-Stream", v.log.name)
	h.set("Nats-Sequence", strconv.FormatUint(e.Seq, 10))
	h.set("Nats-Time-Stamp", at)
	if known {
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
