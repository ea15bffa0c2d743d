package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"ledge/store"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// edgexStream has all messages of EdgeX's message bus. Clients of EdgeX look for a stream of this name.
	edgexStream, edgexSubjects = "edgex", "edgex.>"

	// edgexBytes and edgexMessages bound the stream. At the bound a message is refused. Ledge removes messages that it has taken, the
	// oldest first.
	edgexBytes, edgexMessages = 64 << 20, 100_000

	// watchEvery is the time between two looks at the size of the stream and at the disk.
	watchEvery = time.Second
)

// EdgeX is the stream of EdgeX's message bus: the messages that EdgeX services publish below edgex, and their clients subscribe to.
// All methods can be called on nil.
type EdgeX struct {
	bus      *Bus
	readings *store.Log            // whose reserve of the disk the stream keeps free; nil if there is none
	opened   chan jetstream.Stream // the stream of the newest server
	position atomic.Uint64         // the sequence up to which all messages were taken
	last     atomic.Uint64         // the last sequence of the stream
	conn     atomic.Pointer[nats.Conn]
}

func newEdgeX(b *Bus, logs []*store.Appender) *EdgeX {
	e := &EdgeX{bus: b, opened: make(chan jetstream.Stream, 1)}
	for _, a := range logs {
		if a.Log().Name() == store.ReadingsStream {
			e.readings = a.Log()
		}
	}
	return e
}

// EdgeX returns the stream of EdgeX's message bus.
func (b *Bus) EdgeX() *EdgeX {
	if b == nil {
		return nil
	}
	return b.edgex
}

// account returns the account of the stream: the one of all clients in open mode, and one of its own otherwise.
func (e *EdgeX) account() string {
	if e.bus.o.Login == nil {
		return feedAccount
	}
	return edgexAccount
}

// move moves the files of the stream to its account, if the last start had the other mode.
func (e *EdgeX) move() error {
	here, other := feedAccount, edgexAccount
	if e.account() == edgexAccount {
		here, other = other, here
	}
	from, to := e.bus.streamDir(other, edgexStream), e.bus.streamDir(here, edgexStream)
	if !isThere(from) || isThere(to) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// config is the stream. The server writes a message to the file before it acknowledges the message.
func (e *EdgeX) config(bytes int64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: edgexStream, Description: "EdgeX's message bus", Subjects: []string{edgexSubjects},
		Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, MaxBytes: bytes, MaxMsgs: edgexMessages, MaxConsumers: consumersMost,
		// The server keeps the message ids of this time in memory. Core-data knows the ids of events.
		Duplicates: 100 * time.Millisecond,
		DenyDelete: true,
	}
}

// open makes the stream if it is not there.
func (e *EdgeX) open(ctx context.Context, conn *nats.Conn) (jetstream.Stream, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	s, err := js.UpdateStream(ctx, e.config(edgexBytes))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err := e.setAside(); err != nil {
			return nil, err
		}
		s, err = js.CreateStream(ctx, e.config(edgexBytes))
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", edgexStream, err)
	}
	e.last.Store(s.CachedInfo().State.LastSeq)
	e.position.Store(min(e.readPosition(), e.last.Load())) // a stream that was lost begins anew
	select {
	case <-e.opened:
	default:
	}
	e.opened <- s
	return s, nil
}

// setAside moves the files of a stream that the server could not open out of its way.
func (e *EdgeX) setAside() error {
	dir, aside := e.bus.streamDir(e.account(), edgexStream), filepath.Join(e.bus.o.Dir, edgexStream+".damaged")
	if !isThere(dir) {
		return nil
	}
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	e.bus.o.Logger.Warn("the stream of EdgeX's message bus is damaged: events that core-data did not have yet are lost", "files", aside)
	return os.Rename(dir, aside)
}

// watch removes messages that were taken, and has the stream refuse all while the reserve of the disk is used, until ctx ends or a step
// fails.
func (e *EdgeX) watch(ctx context.Context, conn *nats.Conn, s jetstream.Stream) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for full := false; ; {
		info, err := s.Info(ctx)
		if err == nil {
			e.last.Store(info.State.LastSeq)
			err = e.trim(ctx, s, info.State)
		}
		if now := e.readings != nil && e.readings.Ready() != nil; err == nil && now != full {
			bytes := int64(edgexBytes)
			if full = now; full {
				bytes = int64(max(info.State.Bytes, 1))
			}
			_, err = js.UpdateStream(ctx, e.config(bytes))
		}
		if err != nil {
			return fmt.Errorf("stream %s: %w", edgexStream, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// trim removes the oldest messages that were taken, as many as exceed half of the bound. Application services that were away read the
// others.
func (e *EdgeX) trim(ctx context.Context, s jetstream.Stream, state jetstream.StreamState) error {
	share := max(1-edgexBytes/2/float64(state.Bytes), 1-edgexMessages/2/float64(state.Msgs))
	if state.Msgs == 0 || share <= 0 {
		return nil
	}
	first := state.FirstSeq + uint64(share*float64(state.LastSeq-state.FirstSeq+1))
	first = min(first, e.position.Load()+1)
	if first <= state.FirstSeq {
		return nil
	}
	return s.Purge(ctx, jetstream.WithPurgeSequence(first))
}

// EdgeXBytes is the longest payload that [EdgeX.Publish] takes.
const EdgeXBytes = valueMost

// Publish publishes a message. It waits for no client, and not for the stream.
func (e *EdgeX) Publish(m Message) error {
	conn := e.conn.Load()
	if conn == nil {
		return errors.New("the bus is not running")
	}
	message := &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
	e.bus.memory.reserve(m.Subject, int64(message.Size()))
	return conn.PublishMsg(message)
}

// Waiting returns how many messages of the stream were not taken yet, as of at most a second ago.
func (e *EdgeX) Waiting() uint64 {
	if e == nil {
		return 0
	}
	position := e.position.Load()
	return max(e.last.Load(), position) - position
}
