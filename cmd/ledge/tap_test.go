package main

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// tapClient is a NATS client of the kind that anybody may connect.
type tapClient struct{ sub *nats.Subscription }

func (p *process) tapSubscribe(tb testing.TB, subject string) *tapClient {
	tb.Helper()
	nc, err := nats.Connect(p.tap)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		tb.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		tb.Fatal(err)
	}
	return &tapClient{sub}
}

func (s *tapClient) next(tb testing.TB) *nats.Msg {
	tb.Helper()
	m, err := s.sub.NextMsg(hangs)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// historyConn is the connection that docs/reference/taps.md describes for reading the streams.
func (p *process) historyConn(tb testing.TB) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(p.tap, nats.UserInfo("history", "history"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}
