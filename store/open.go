package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// tailEvents are verified before the store opens after a clean stop, allEvents after another one; the rest is
	// verified in the background.
	tailEvents = 2_000
	allEvents  = 200_000
)

// before looks at the files while no server runs: without meta.sum, or with an empty meta.inf, the server starts
// without the stream and would make a new one over the old blocks. And it syncs the tail, which after a crash may be
// written but not durable. After a stop that was not clean the server's index goes: it may name events that were
// written but never synced, and a power cut took; the server would then start with holes where those were.
func (l *Log) before(clean bool) error {
	held, err := l.blocks.bytes()
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	if held == 0 {
		return nil
	}
	dir := streamDir(l.store.o.Dir, l.name)
	for _, name := range []string{server.JetStreamMetaFile, server.JetStreamMetaFileSum} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Size() == 0 {
			return l.lostStream(fmt.Sprintf("%s is missing or empty", filepath.Join(dir, name)))
		}
	}
	if err := l.blocks.syncTail(); err != nil {
		return fmt.Errorf("%s: sync: %w", l.name, err)
	}
	if due, ok := l.blocks.lastInRange(); !ok {
		return l.damage(due, "in its place is a record whose sequence is out of range")
	}
	if clean {
		return nil
	}
	if err := os.Remove(filepath.Join(l.blocks.dir, "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

func (l *Log) lostStream(why string) error {
	return l.damage(0, "its events are in %s, but the server cannot open them: %s; nothing was written over them", l.blocks.dir, why)
}

// open opens the stream, or makes it where there is none and never was.
func (l *Log) open(ctx context.Context) error {
	nc, o := l.store.node.write, l.store.o
	want := streamConfig(l.stream, o.retention(l.stream))
	info, err := streamInfo(ctx, nc, l.name, true)
	var none *server.ApiError
	switch {
	case errors.As(err, &none) && none.ErrCode == uint16(server.JSStreamNotFoundErr):
		if held, err := l.blocks.bytes(); err != nil || held > 0 {
			return l.lostStream("it does not know the stream")
		}
		if info, err = callStream(ctx, nc, "CREATE", l.name, want); err != nil {
			return err
		}
		err = syncTree(o.Dir, streamDir(o.Dir, l.name))
	case err == nil && !asked(info.Config, want):
		if _, err = callStream(ctx, nc, "UPDATE", l.name, want); err != nil {
			return err
		}
		err = syncTree(o.Dir, streamDir(o.Dir, l.name))
	}
	if err != nil {
		return err
	}
	if err := l.whole(info.State); err != nil {
		return err
	}
	if err := l.blocks.syncTail(); err != nil {
		return err
	}
	l.mu.Lock()
	l.first, l.last = max(info.State.FirstSeq, 1), info.State.LastSeq
	l.mu.Unlock()
	return l.listen()
}

// whole holds that by the server's own account nothing is missing. That is not enough: see [Log.start].
func (l *Log) whole(st server.StreamState) error {
	if st.Lost != nil && len(st.Lost.Msgs) > 0 {
		return l.damage(st.Lost.Msgs[0], "the server lost %d events (%d bytes)", len(st.Lost.Msgs), st.Lost.Bytes)
	}
	if st.LastSeq == 0 {
		return nil // an empty stream that was opened again says that 0 is missing
	}
	if len(st.Deleted) > 0 {
		return l.damage(st.Deleted[0], "%d events are missing between %d and %d", len(st.Deleted), st.FirstSeq, st.LastSeq)
	}
	if l.forever && st.FirstSeq != 1 {
		return l.damage(1, "the first event that is there is %d", st.FirstSeq)
	}
	if st.Msgs > 0 && st.Msgs != st.LastSeq-st.FirstSeq+1 {
		return l.damage(st.FirstSeq, "%d events where %d to %d should be", st.Msgs, st.FirstSeq, st.LastSeq)
	}
	return nil
}

// start compares the end of the log with the mark of the last stop and verifies what is affordable before serving.
func (l *Log) start(ctx context.Context, m *mark) error {
	var e end
	if m != nil {
		e = m.Ends[l.name]
	}
	if l.last < e.Last {
		return l.damage(l.last+1, "at the last stop the log ended at %d, now at %d", e.Last, l.last)
	}
	verified := uint64(tailEvents)
	if m == nil {
		verified = allEvents
	}
	from := l.first
	if l.last > verified {
		from = max(from, l.last-verified+1)
	}
	link, err := l.verify(ctx, from, l.last)
	if err != nil {
		return err
	}
	switch {
	case link.known:
		l.chain = link.prev
	case e.Last == l.last: // all is gone for reasons of age; the mark remembers the end
		if sum, err := hex.DecodeString(e.Chain); err == nil {
			copy(l.chain[:], sum)
		}
	}
	if e.Last > 0 && e.Last == l.last && hex.EncodeToString(l.chain[:]) != e.Chain {
		return l.damage(l.last, "it is not the event with which the log ended at the last stop")
	}
	l.verified = from
	l.show()
	return nil
}
