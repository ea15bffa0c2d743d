package ledgetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// CompareBus returns the difference between the copies of the logs that NATS clients read and `ledge log`, or nil. It waits for
// each message until the copy has it.
func CompareBus(p *Node) error {
	facts, err := TryFacts(p.Dir)
	if err != nil {
		return err
	}
	logs := map[string][]Fact{"event": nil, "notification": nil, "reading": nil}
	for _, f := range facts {
		of := strings.Split(f.Subject, ".")[1]
		logs[of] = append(logs[of], f)
	}
	nc, js, err := OpenJetStream(p.NATS)
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	for name, facts := range logs {
		if err := compareStream(ctx, js, "LEDGE_"+strings.ToUpper(name)+"S", facts); err != nil {
			return fmt.Errorf("%ss on the bus: %w", name, err)
		}
	}
	return nil
}

func compareStream(ctx context.Context, js jetstream.JetStream, name string, facts []Fact) error {
	if len(facts) == 0 {
		return nil
	}
	s, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := c.Messages(jetstream.PullMaxBytes(2 << 20))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for _, f := range facts {
		if f.Seq < s.CachedInfo().State.FirstSeq {
			continue
		}
		m, err := messages.Next(jetstream.NextMaxWait(Timeout))
		if err != nil {
			return fmt.Errorf("sequence %d: %w", f.Seq, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		var data bytes.Buffer
		if json.Compact(&data, m.Data()) != nil {
			data.Reset()
		}
		if got := m.Headers().Get("ce-type"); meta.Sequence.Stream != f.Seq || m.Subject() != f.Subject || got != f.Type ||
			f.Size != len(m.Data()) || strings.HasPrefix(name, "LEDGE_EVENTS") && data.String() != string(f.Data) {
			return fmt.Errorf("got %d %s %s with %d bytes, want %d %s %s with %d",
				meta.Sequence.Stream, m.Subject(), got, len(m.Data()), f.Seq, f.Subject, f.Type, f.Size)
		}
	}
	return nil
}
