package storetest

import (
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// AskAll sends a direct get and returns all messages of the answer: up to one without payload or, if no batch is asked for, the first.
func AskAll(nc *nats.Conn, subject, body string) (all []*nats.Msg, err error) {
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(subject, inbox, []byte(body)); err != nil {
		return nil, err
	}
	for {
		m, err := sub.NextMsg(time.Minute)
		if err != nil {
			return all, err
		}
		all = append(all, m)
		if len(m.Data) == 0 && m.Header.Get("Status") != "" || !strings.Contains(body, `"batch"`) {
			return all, nil
		}
	}
}
