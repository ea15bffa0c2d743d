package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledge/store/osfile"

	"github.com/nats-io/nats.go/jetstream"
)

// Message is a message that a client has published on EdgeX's message bus.
type Message struct {
	Subject string
	Header  map[string][]string
	Data    []byte
}

const (
	// takenMessages and takenBytes bound a batch.
	takenMessages, takenBytes = 64, 1 << 20
	// aheadMessages and aheadBytes bound the part of the stream that is read before it is taken. With a bound in bytes only, the client of
	// NATS keeps room for a million messages.
	aheadMessages, aheadBytes = 1024, 2 << 20
	// saveEvery is how often the position is saved: after a crash the messages of this time are taken again.
	saveEvery = time.Second
)

// Take gives all messages of the stream to take, in their order and in batches, until ctx ends. The batch is done when take returns nil:
// its messages are given again only after a crash in the next second. After an error the batch is given again.
func (e *EdgeX) Take(ctx context.Context, take func(context.Context, []Message) error) error {
	if e == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	var s jetstream.Stream
	defer func() {
		if s == nil {
			return
		}
		select {
		case e.opened <- s: // for the next call
		default:
		}
	}()
	for said := ""; ctx.Err() == nil; {
		for s == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case s = <-e.opened:
			}
		}
		err := e.takeFrom(ctx, s, take)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err.Error() != said {
			e.bus.o.Logger.Warn("the messages of EdgeX services are not taken, and it is tried again", "error", err, "every", retryPause)
			said = err.Error()
		}
		pauseFor(retryPause, ctx.Done())
		select {
		case s = <-e.opened:
		default:
		}
	}
	return ctx.Err()
}

// takeFrom takes the messages of a stream until ctx ends or a step fails. The consumer has no acknowledgements, because a client with the
// rights of an EdgeX service could send them too.
func (e *EdgeX) takeFrom(ctx context.Context, s jetstream.Stream, take func(context.Context, []Message) error) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	position := e.position.Load()
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: position + 1,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(aheadMessages, aheadBytes))
	if err != nil {
		return err
	}
	arrived, failed := make(chan jetstream.Msg, takenMessages), make(chan error, 1)
	var reading sync.WaitGroup
	reading.Go(func() { failed <- forwardMessages(ctx, messages, arrived) })
	defer func() {
		stop()
		messages.Stop()
		reading.Wait()
		err = errors.Join(err, e.savePosition())
	}()
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for saved := position; ; {
		select {
		case m := <-arrived:
			batch, last, err := collectBatch(m, arrived)
			if err == nil {
				err = take(ctx, batch)
			}
			if err != nil {
				return err
			}
			if !e.position.CompareAndSwap(position, last) {
				return errors.New("the stream was opened again")
			}
			position = last
		case <-tick.C:
			if position == saved {
				continue
			}
			if err := e.savePosition(); err != nil {
				return err
			}
			saved = position
		case err := <-failed:
			return err
		}
	}
}

// forwardMessages passes messages on until ctx ends or there are no more.
func forwardMessages(ctx context.Context, from jetstream.MessagesContext, to chan<- jetstream.Msg) error {
	for {
		m, err := from.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// collectBatch returns a batch that begins with a message, and the sequence of its last message. It does not wait for more.
func collectBatch(m jetstream.Msg, arrived <-chan jetstream.Msg) (batch []Message, last uint64, err error) {
	for bytes := 0; ; {
		meta, err := m.Metadata()
		if err != nil {
			return nil, 0, err
		}
		last = meta.Sequence.Stream
		batch = append(batch, Message{m.Subject(), m.Headers(), m.Data()})
		if bytes += len(m.Data()); len(batch) == takenMessages || bytes >= takenBytes {
			return batch, last, nil
		}
		select {
		case m = <-arrived:
		default:
			return batch, last, nil
		}
	}
}

// positionFile has the position in decimal.
func (e *EdgeX) positionFile() string { return filepath.Join(e.bus.o.Dir, edgexStream+".position") }

// readPosition returns the saved position, 0 if there is none: core-data refuses an event that it has.
func (e *EdgeX) readPosition() uint64 {
	text, _ := os.ReadFile(e.positionFile())
	position, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return max(position, e.position.Load())
}

func (e *EdgeX) savePosition() error {
	text := strconv.FormatUint(e.position.Load(), 10)
	if err := osfile.Write(e.positionFile(), []byte(text+"\n")); err != nil {
		return fmt.Errorf("save the position in %s: %w", edgexStream, err)
	}
	return nil
}
