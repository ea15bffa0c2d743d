package main

import (
	"context"
	"time"

	"ledge/cmd/internal/node"
	"ledge/cmd/internal/retention"
	"ledge/store"
)

// storage is what the metrics show of what is stored. All bytes are of the disk or of values.
type storage struct {
	FreeBytes uint64               `json:"freeBytes"`
	Streams   []streamUse          `json:"streams"`
	Archive   retention.ArchiveUse `json:"archive"`
	Retention []retention.RuleUse  `json:"retention"`
	Payloads  payloadUse           `json:"payloads"`
	// Unrecorded counts what the log of notifications has refused for good.
	Unrecorded int64 `json:"unrecorded"`
}

type streamUse struct {
	Name    string `json:"name"`
	First   uint64 `json:"firstSequence"`
	Last    uint64 `json:"lastSequence"`
	Bytes   int64  `json:"bytes"`
	Refused uint64 `json:"refused"`
	Reserve int64  `json:"reserveBytes"`
	Skipped int    `json:"skippedEvents"`
}

// storage looks at the disk. What cannot be read is logged and shown as 0.
func (p *Program) storage() (s storage) {
	s = p.changesUse()
	for _, one := range p.node.Parts() {
		s.Streams = append(s.Streams, p.useOf(one))
	}
	s.Retention = p.remover.RuleUses()
	s.Unrecorded = p.unrecorded()
	s.Payloads = p.payloadUse()
	return s
}

func (p *Program) payloadUse() payloadUse {
	use, err := p.payloads.Use()
	p.warnMetric("payloads", err)
	return payloadUse{use.Count, use.Bytes, p.payloads.Damaged()}
}

func (p *Program) useOf(one *node.Part) streamUse {
	st, err := one.Log.Stats()
	p.warnMetric(one.Log.Name(), err)
	if one.Log == p.node.Readings.Log {
		st.Refused += p.payloads.Refused()
	}
	return streamUse{st.Stream, st.First, st.Last, st.Bytes, st.Refused, st.Reserve, st.Skipped}
}

// payloadUse is what the files in payloads/ take, and how many reads since the start found one of them damaged.
type payloadUse struct {
	Count   int64  `json:"count"`
	Bytes   int64  `json:"bytes"`
	Damaged uint64 `json:"damagedReads"`
}

// healthTimeout is how long the log and the state may take to answer a health check: as long as a client may take.
const healthTimeout = 30 * time.Second

// readyFor returns why nothing can be recorded on a log, or nothing be read, nil if both work.
func (p *Program) readyFor(log *store.Log) error {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	if err := p.node.Store.Health(ctx); err != nil {
		return err
	}
	if err := p.node.Health(); err != nil {
		return err
	}
	return log.Ready()
}
