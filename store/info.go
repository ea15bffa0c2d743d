package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Info is what the service "ledge.info" answers for each stream, under its name.
type Info struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Chain string `json:"chain"` // hex
}

// answerInfo serves what taps cannot ask the server for: where each stream begins and ends. It ends where queries do, so
// that what a tap reads up to there is something it can ask about.
func (s *Store) answerInfo() error {
	_, err := s.node.live.Subscribe(infoSubject, func(m *nats.Msg) {
		all := map[string]Info{}
		for _, l := range s.logs {
			last, chain := l.visible()
			all[l.name] = Info{l.First(), last, hex.EncodeToString(chain[:])}
		}
		if text, err := json.Marshal(all); err == nil {
			_ = m.Respond(text)
		}
	})
	return err
}

// askInfo asks that service, by stream.
func askInfo(ctx context.Context, conn *nats.Conn) (all map[string]Info, err error) {
	answer, err := conn.RequestWithContext(ctx, infoSubject, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", infoSubject, err)
	}
	if err := json.Unmarshal(answer.Data, &all); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", infoSubject, err)
	}
	return all, nil
}
