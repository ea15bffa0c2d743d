package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ledge/domain"
	"ledge/store"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// chunkMessages and chunkBytes bound a chunk: one acknowledgement is awaited for each.
	chunkMessages, chunkBytes = 256, 512 << 10
	// restShare is how many times as long as for a chunk the copier rests while events are recorded: appends come first. It is restUnread
	// while no client is connected.
	restShare, restUnread = 10, 100
	// restMost is the longest rest, and restStep the time between two looks at whether it is over.
	restMost, restStep = time.Second, 5 * time.Millisecond
	// roomPause is the time between two looks at a full disk.
	roomPause = time.Second
	// ackWait is how long the server may take for one chunk, or for one message of an EdgeX service.
	ackWait = 10 * time.Second
)

// copier keeps the copy of one log.
type copier struct {
	bus    *Bus
	source *store.Appender
	log    *store.Log
	last   atomic.Uint64 // the last sequence that the copy has, or that was published live
	buffer store.MessageBuffer
	took   time.Duration // for the last chunk
	shown  uint64        // the last sequence of the log at that time
}

func newCopier(b *Bus, a *store.Appender) *copier { return &copier{bus: b, source: a, log: a.Log()} }

// lag returns how many events the log shows that the copy does not have.
func (c *copier) lag() uint64 {
	shown, last := c.log.Visible(), c.last.Load()
	return max(shown, last) - last
}

// open makes the stream of the copy if it is not there, and finds out how far it goes.
func (c *copier) open(ctx context.Context) error {
	if c.bus.o.MaxBytes == 0 {
		c.last.Store(c.log.Visible())
		return nil
	}
	_, conn := c.bus.now()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	cfg := c.config()
	s, err := js.UpdateStream(ctx, cfg)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if cfg.FirstSeq, err = c.log.Tail(c.bus.o.MaxBytes); err == nil {
			cfg.FirstSeq = min(cfg.FirstSeq, c.log.Visible()+1)
			s, err = js.CreateStream(ctx, cfg)
		}
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", cfg.Name, err)
	}
	state := s.CachedInfo().State
	if state.LastSeq > c.log.Visible() || state.Msgs > 0 && state.Msgs != state.LastSeq-state.FirstSeq+1 {
		_ = js.DeleteStream(ctx, cfg.Name) // the next try makes it anew
		return fmt.Errorf("copy %s: the server opened %d messages from %d to %d", cfg.Name, state.Msgs, state.FirstSeq, state.LastSeq)
	}
	c.last.Store(state.LastSeq)
	return nil
}

// config is the stream of a copy. It stores a message of the ingest subject under the subject of the log, and sends it to subscribers.
func (c *copier) config() jetstream.StreamConfig {
	of := c.log.Prefix() + ">"
	return jetstream.StreamConfig{
		Name: c.log.Name(), Description: "copy of Ledge's log", Subjects: []string{ingestOf(of)},
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: ingestOf(of), Destination: of},
		RePublish:        &jetstream.RePublish{Source: of, Destination: of},
		Storage:          jetstream.FileStorage, Discard: jetstream.DiscardOld, MaxBytes: c.bus.o.MaxBytes, MaxConsumers: consumersMost,
		PersistMode: jetstream.AsyncPersistMode, Duplicates: 100 * time.Millisecond, DenyDelete: true, DenyPurge: true,
	}
}

// ingestOf returns the subject on which a message with a subject is published.
func ingestOf(subject string) string { return ingest + strings.TrimPrefix(subject, prefix) }

// follow copies the events that queries show, until ctx ends or a step fails.
func (c *copier) follow(ctx context.Context) error {
	var waiting []store.Message // copied together, because each chunk costs a request
	err := c.source.FollowMessages(ctx, c.last.Load()+1, func(group []store.Message) error {
		waiting = append(waiting, group...)
		if n := len(waiting); bytesOf(waiting) < chunkBytes && n < chunkMessages && waiting[n-1].Seq < c.log.Visible() {
			return nil
		}
		err := c.take(ctx, waiting)
		clear(waiting)
		waiting = waiting[:0]
		return err
	})
	return fmt.Errorf("copy %s: %w", c.log.Name(), err)
}

// bytesOf returns how many bytes the payloads of messages have.
func bytesOf(messages []store.Message) (n int) {
	for _, m := range messages {
		n += len(m.Data)
	}
	return n
}

// take copies messages in chunks. Each is fenced by the sequence before it, so the acknowledgement of the last is that of all.
func (c *copier) take(ctx context.Context, group []store.Message) error {
	for len(group) > 0 {
		if c.bus.o.MaxBytes == 0 && !hasReaders(c.bus) {
			c.last.Store(group[len(group)-1].Seq)
			return nil
		}
		n, bytes := 0, 0
		for n < len(group) && n < chunkMessages && bytes < chunkBytes {
			bytes += len(group[n].Data)
			n++
		}
		for c.log.Ready() != nil && ctx.Err() == nil {
			pauseFor(roomPause, ctx.Done()) // the reserve of the disk is for the log
		}
		c.restUnread(ctx)
		began, shown := time.Now(), c.log.Visible()
		if err := c.publish(ctx, group[:n]); err != nil {
			return err
		}
		c.last.Store(group[n-1].Seq)
		group = group[n:]
		c.took = time.Since(began)
		if hasReaders(c.bus) && c.log.Visible() > shown {
			pauseFor(min(restShare*c.took, restMost), ctx.Done())
		}
	}
	return nil
}

// restUnread rests before a chunk, as long as no client is connected, if events were recorded since the chunk before.
func (c *copier) restUnread(ctx context.Context) {
	shown := c.log.Visible()
	if shown > c.shown {
		end := time.Now().Add(min(restUnread*c.took, restMost))
		for !hasReaders(c.bus) && time.Now().Before(end) && ctx.Err() == nil {
			pauseFor(restStep, ctx.Done())
		}
	}
	c.shown = shown
}

// await waits until the copy has the events that the log shows now.
func (c *copier) await(ctx context.Context) {
	for shown := c.log.Visible(); c.last.Load() < shown && ctx.Err() == nil; {
		pauseFor(restStep, ctx.Done())
	}
}

func (c *copier) publish(ctx context.Context, chunk []store.Message) error {
	_, conn := c.bus.now()
	for i, m := range chunk {
		header, data := onBus(m)
		live := c.bus.o.MaxBytes == 0
		subject := ingestOf(m.Subject)
		if live {
			subject = m.Subject
		}
		message := c.buffer.Of(subject, header, data)
		c.bus.memory.reserve(m.Subject, int64(message.Size()))
		if live {
			message.Header["Nats-Stream"], message.Header["Nats-Sequence"] = []string{c.log.Name()}, []string{strconv.FormatUint(m.Seq, 10)}
		} else {
			message.Header[nats.ExpectedLastSeqHdr] = []string{strconv.FormatUint(m.Seq-1, 10)}
		}
		if live || i < len(chunk)-1 {
			if err := conn.PublishMsg(message); err != nil {
				return err
			}
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, ackWait)
		answer, err := conn.RequestMsgWithContext(ctx, message)
		cancel()
		if err != nil {
			return fmt.Errorf("publish %d: %w", m.Seq, err)
		}
		var ack jetstream.PubAck
		if json.Unmarshal(answer.Data, &ack) != nil || ack.Stream != c.log.Name() || ack.Sequence != m.Seq {
			return fmt.Errorf("publish %d: %s", m.Seq, answer.Data)
		}
	}
	return nil
}

// onBus returns the headers and the payload of a message on the bus. A payload of more than [valueMost] is left out.
// Then ce-size is its length in bytes and ce-digest its SHA-256 in hex. The message of an event at core-data also has ce-dataref.
func onBus(m store.Message) (store.Header, []byte) {
	if len(m.Data) <= valueMost {
		return m.Header, m.Data
	}
	header := make(store.Header, 0, len(m.Header)+2)
	for _, f := range m.Header {
		if f.Name != headerSize && f.Name != headerDigest {
			header = append(header, f)
		}
	}
	sum := sha256.Sum256(m.Data)
	header = append(header, store.Field{Name: headerSize, Value: strconv.Itoa(len(m.Data))},
		store.Field{Name: headerDigest, Value: hex.EncodeToString(sum[:])})
	if path := eventPath(m); path != "" {
		header = append(header, store.Field{Name: headerRef, Value: path})
	}
	return header, nil
}

// eventPath returns the path at core-data of the event in a message; "" for other messages, and for an event that is not stored.
func eventPath(m store.Message) string {
	var e struct{ Event struct{ ID string } }
	if m.Header.Get("ce-type") != "event.added/1" || m.Chain() == "" || json.Unmarshal(m.Data, &e) != nil || e.Event.ID == "" {
		return ""
	}
	return domain.EventPath(e.Event.ID)
}

const headerSize, headerDigest, headerRef = "ce-size", "ce-digest", "ce-dataref"

// keepSound removes the copies that differ from their logs, and all copies if bus-max-bytes is 0.
func (b *Bus) keepSound(ctx context.Context) {
	for _, c := range b.copies {
		dir := b.streamDir(feedAccount, c.log.Name())
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		err := errors.New("copies are off (setting bus-max-bytes)")
		if b.o.MaxBytes > 0 {
			err = c.compare(ctx, dir)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		b.o.Logger.Warn("the copy of a log for NATS clients is unsound: it is filled again, and its consumers are gone",
			"stream", c.log.Name(), "reason", err)
		if err := os.RemoveAll(dir); err != nil {
			b.o.Logger.Warn("the copy cannot be removed", "path", dir, "error", err)
		}
	}
}
