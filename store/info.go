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

// openTaps listens for NATS clients and answers what they ask.
func (s *Store) openTaps(ctx context.Context) (err error) {
	if s.taps, err = startTaps(ctx, s.o); err != nil {
		return err
	}
	s.history = newHistory(s.taps, s)
	if err := s.history.start(); err != nil {
		return err
	}
	return s.taps.listen(ctx, s.o)
}

// infoText tells taps where each stream begins and ends. It ends where queries do, so that what a tap reads up to there is
// something it can ask about.
func (s *Store) infoText() []byte {
	all := map[string]Info{}
	for _, l := range s.logs {
		last, chain := l.visible()
		all[l.name] = Info{l.First(), last, hex.EncodeToString(chain[:])}
	}
	text, _ := json.Marshal(all) // of names and numbers
	return text
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
