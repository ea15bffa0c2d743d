package bus

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/cmd/ledgetest"
)

// slowDialer connects through a network of some 10 MB/s.
type slowDialer struct{}

func (slowDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
	return slowConn{c}, nil
}

type slowConn struct{ net.Conn }

func (c slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), 64<<10)])
	time.Sleep(time.Duration(n) * time.Second / (10 << 20))
	return n, err
}

// TestSlowConsumer reads pictures over a slow network, with a bound on the bytes that the client library asks for at once, as docs/integrate.md
// says. The server does not cut it off.
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	p := ledgetest.StartSeed(t)
	const pictures = 250
	body := strings.Repeat("p", 200<<10)
	for range pictures {
		if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", body); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	ended := make(chan error, 1)
	note := func(_ *nats.Conn, err error) { ended <- err }
	_, js := ledgetest.MustJetStream(t, p.NATS, nats.SetCustomDialer(slowDialer{}), nats.DisconnectErrHandler(note))
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	durable := jetstream.ConsumerConfig{Durable: "pictures", AckPolicy: jetstream.AckExplicitPolicy}
	c, err := js.CreateOrUpdateConsumer(ctx, "LEDGE_READINGS", durable)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, pictures)
	consuming, err := c.Consume(func(m jetstream.Msg) {
		_ = m.Ack()
		got <- m.Subject()
	}, jetstream.PullMaxBytes(2<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer consuming.Stop()
	for n := range pictures {
		select {
		case <-got:
		case err := <-ended:
			t.Fatalf("cut off after %d: %v", n, err)
		case <-ctx.Done():
			t.Fatalf("%d of %d", n, pictures)
		}
	}
}
