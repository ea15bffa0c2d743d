package zeromq

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/bridge/zeromqtest"
)

// BenchmarkPublish counts one operation for each published message of 200 bytes. Subscribers
// are raw peers that count bytes; publishing waits for those who have not kept up, so that
// nothing is dropped.
func BenchmarkPublish(b *testing.B) {
	for _, subscribers := range []int{1, 10} {
		b.Run(fmt.Sprint(subscribers), func(b *testing.B) { benchmarkPublish(b, subscribers, false) })
		b.Run(fmt.Sprint(subscribers, "-CURVE"), func(b *testing.B) { benchmarkPublish(b, subscribers, true) })
	}
}

// With CURVE, subscribers do not decrypt.
func benchmarkPublish(b *testing.B, subscribers int, curve bool) {
	client := zeromqtest.NewKeys()
	s, server := mustServer(b, Options{QueueMessages: 1 << 30, QueueBytes: 1 << 30})
	at := Channel{Host: "127.0.0.1", Port: porttest.Hold(b)}
	if curve {
		at = keyed(at.Port, client)
	}
	p := mustHold(b, s, at)
	body := strings.Repeat("b", 200)
	wire := len(rawFrame(1, "topic") + rawFrame(0, body))
	if curve {
		wire = len(rawFrame(0, "topic"+strings.Repeat("o", messageOverhead)) + rawFrame(0, body+strings.Repeat("o", messageOverhead)))
	}
	const window = 10_000
	var credits, ends []chan struct{}
	for range subscribers {
		var c io.Reader
		if curve {
			c = mustJoinCurve(b, p, server, client, "topic").Conn
		} else {
			c = MustJoin(b, p, "topic").r
		}
		credit, end := make(chan struct{}, 2), make(chan struct{})
		credits, ends = append(credits, credit), append(ends, end)
		messages := b.N
		go func() {
			defer close(end)
			for n := window; n <= messages; n += window {
				io.CopyN(io.Discard, c, int64(window*wire))
				credit <- struct{}{}
			}
			io.CopyN(io.Discard, c, int64(messages%window*wire))
		}()
	}
	b.ResetTimer()
	for i := range b.N {
		if i > window && i%window == 0 {
			for _, credit := range credits {
				<-credit
			}
		}
		if _, err := s.Publish(at, "topic", body); err != nil {
			b.Fatal(err)
		}
	}
	for _, end := range ends {
		<-end
	}
	b.ReportMetric(float64(b.N*subscribers)/b.Elapsed().Seconds(), "deliveries/s")
	if p.Drops() > 0 {
		b.Fatalf("%d drops", p.Drops())
	}
}
