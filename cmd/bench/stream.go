package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// accounts lets us into the account of the streams.
const accounts = `accounts { LEDGE { jetstream: enabled, users: [{user: bench, password: bench}] } }`

// rawStream is the event stream as NATS alone has it: the embedded server, and nats.go.
type rawStream struct {
	server *server.Server
	conn   *nats.Conn
	events jetstream.Stream
}

func openRawStream(ctx context.Context, dir, name string) (*rawStream, error) {
	o := &server.Options{}
	if err := o.ProcessConfigString(accounts); err != nil {
		return nil, err
	}
	o.ServerName, o.NoSigs, o.NoLog, o.DontListen = "bench", true, true, true
	o.JetStream, o.StoreDir, o.JetStreamMaxStore = true, filepath.Join(dir, "nats"), 1<<60
	o.MaxPayload = 32 << 20 // as the streams were made with
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	r := &rawStream{server: s}
	if err := r.connect(ctx, name); err != nil {
		r.close()
		return nil, fmt.Errorf("open %s with NATS alone: %w", name, err)
	}
	return r, nil
}

func (r *rawStream) connect(ctx context.Context, name string) (err error) {
	if r.conn, err = nats.Connect("", nats.InProcessServer(r.server), nats.UserInfo("bench", "bench")); err != nil {
		return err
	}
	js, err := jetstream.New(r.conn)
	if err != nil {
		return err
	}
	r.events, err = js.Stream(ctx, name)
	return err
}

func (r *rawStream) close() {
	if r.conn != nil {
		r.conn.Close()
	}
	r.server.Shutdown()
	r.server.WaitForShutdown()
}

// read reads all messages in order with an ordered consumer, the fastest of nats.go that keeps the memory bounded.
func (r *rawStream) read(ctx context.Context, limit time.Duration) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	consumer, err := r.events.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return 0, err
	}
	last := r.events.CachedInfo().State.LastSeq
	end := make(chan error, 1)
	c, err := consumer.Consume(func(m jetstream.Msg) {
		n++
		meta, err := m.Metadata()
		if err == nil && meta.Sequence.Stream != uint64(n) {
			err = errors.New("read out of order")
		}
		if err != nil || meta.Sequence.Stream == last {
			select {
			case end <- err:
			default:
			}
		}
	}, jetstream.PullMaxMessages(5000))
	if err != nil {
		return 0, err
	}
	defer c.Stop()
	select {
	case err = <-end:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return n, err
}
