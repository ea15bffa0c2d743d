package bus

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/store/natsserver"
)

// mustFill connects past the gate, which bounds the bytes of a client in a second.
func (n *served) mustFill(t *testing.T) jetstream.JetStream {
	t.Helper()
	s, _ := n.now()
	nc, err := natsserver.Connect(s, "filler", edgexUser, n.secret)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestStreamIsBounded fills the stream while nothing is taken: further messages are refused, and the acknowledged ones stay. When
// they are taken, about half of the bound stays for application services, and messages are accepted again.
func TestStreamIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int
		want string
	}{
		"bytes":    {512 << 10, "maximum bytes exceeded"},
		"messages": {1, "maximum messages exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := mustServe(t, Options{MaxBytes: 1 << 20})
			js := n.mustFill(t)
			data := make([]byte, c.size)
			accepted, refusal := uint64(0), error(nil)
			for refusal == nil {
				var group []jetstream.PubAckFuture
				for range 100 {
					future, err := js.PublishMsgAsync(&nats.Msg{Subject: "edgex.a", Data: data})
					if err != nil {
						t.Fatal(err)
					}
					group = append(group, future)
				}
				for _, future := range group {
					select {
					case <-future.Ok():
						accepted++
					case refusal = <-future.Err():
					case <-time.After(deadline):
						t.Fatal("no answer")
					}
				}
			}
			if !strings.Contains(refusal.Error(), c.want) {
				t.Errorf("refused with %v", refusal)
			}
			got := uint64(0)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = n.EdgeX().Take(ctx, func(_ context.Context, batch []Message) error {
					got += uint64(len(batch))
					if len(batch) > takenMessages || c.size*(len(batch)-1) >= takenBytes {
						t.Errorf("a batch of %d messages", len(batch))
					}
					return nil
				})
			}()
			eventually(t, "all are taken", func() bool { return n.EdgeX().position.Load() == accepted })
			stop()
			<-ended
			s, err := js.Stream(t.Context(), edgexStream)
			if err != nil {
				t.Fatal(err)
			}
			var state jetstream.StreamState
			eventually(t, "half of the bound is free", func() bool {
				info, err := s.Info(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				state = info.State
				return state.Bytes <= edgexBytes/2+1<<20 && state.Msgs <= edgexMessages/2+1
			})
			if got != accepted || state.Bytes < edgexBytes/3 && state.Msgs < edgexMessages/3 {
				t.Errorf("%d of %d are taken, and %d messages with %d bytes stay", got, accepted, state.Msgs, state.Bytes)
			}
			if _, err := js.Publish(t.Context(), "edgex.a", data); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTakeGoesOn has the server fail while messages are taken: they are taken from the next server, each once.
func TestTakeGoesOn(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 1 << 20})
	taken := make(chan string, 100)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.EdgeX().Take(ctx, func(_ context.Context, batch []Message) error {
			for _, m := range batch {
				taken <- string(m.Data)
			}
			return nil
		})
	}()
	t.Cleanup(func() { stop(); <-ended })
	for i, text := range []string{"1", "2"} {
		if _, err := n.mustFill(t).Publish(t.Context(), "edgex.a", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := mustReceive(t, taken); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
		if i > 0 {
			break
		}
		failed, _ := n.now()
		failed.Shutdown()
		eventually(t, "another server lets clients in", func() bool {
			n.gate.mu.Lock()
			defer n.gate.mu.Unlock()
			return n.gate.server != nil && n.gate.server != failed
		})
	}
}
