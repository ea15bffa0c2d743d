package store

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ledge/store/tap"

	"github.com/nats-io/nats.go"
)

// live publishes recorded events under their public subjects, for taps. It is handed them after their answers and
// publishes at most once: neither an answer nor an append waits for a tap. What finds no room is dropped for all taps, and
// shows as a gap in Nats-Sequence.
type live struct {
	log    *Log
	mu     sync.RWMutex // guards closed
	closed bool
	groups chan liveGroup
	bytes  atomic.Int64 // in groups
	buffer messageBuffer
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
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.closed {
		return
	}
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

func (v *live) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	close(v.groups)
}

func (v *live) run() {
	taps := v.log.store.tap
	for g := range v.groups {
		if last := g.run[len(g.run)-1].Seq; last > 0 { // 0 is an event that is not recorded
			if g.run[0].Seq != v.last+1 && v.last != 0 {
				v.forget()
			}
			v.last = last
		}
		v.publish(taps, g)
		v.bytes.Add(-g.bytes)
	}
}

func (v *live) publish(taps *tap.Server, g liveGroup) {
	if taps.Clients() == 0 { // live messages before the first client are for nobody
		v.forget()
		return
	}
	at := g.at.UTC().Format(time.RFC3339Nano)
	for i, e := range g.run {
		if !taps.Publish(v.message(e, at)) {
			v.dropped("too much waits for taps", g.run[i:i+1])
		}
	}
	taps.Flush()
}

// forget says that sequences were appended that before does not know: taps missed them, or there was no tap.
func (v *live) forget() {
	v.all = false
	if len(v.newer) > 0 { // to clear an empty map takes as long as to clear a full one
		clear(v.newer)
		clear(v.older)
	}
}

// message adds what NATS' own republishing adds. Nats-Time-Stamp is when we had the acknowledgement. Nats-Last-Sequence is left out where it
// is not known. An event that is not recorded has no sequence.
func (v *live) message(e entry, at string) *nats.Msg {
	h, subject := e.header, v.log.public+e.subject
	h.set("Nats-Stream", v.log.name)
	h.set("Nats-Time-Stamp", at)
	if e.Seq > 0 {
		h.set("Nats-Sequence", strconv.FormatUint(e.Seq, 10))
		if before, known := v.before(subject, e.Seq); known {
			h.set("Nats-Last-Sequence", strconv.FormatUint(before, 10))
		}
	}
	return v.buffer.of(subject, h, e.data)
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
