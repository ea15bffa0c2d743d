package main

import (
	"context"
	"path/filepath"

	"ledge/domain"
	"ledge/store"
)

// storage is what the metrics show of what is stored. All bytes are of the disk or of values.
type storage struct {
	FreeBytes uint64      `json:"freeBytes"`
	Streams   []streamUse `json:"streams"`
	Archive   archiveUse  `json:"archive"`
	Retention []ruleUse   `json:"retention"`
	Payloads  payloadUse  `json:"payloads"`
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

type ruleUse struct {
	Rule         string `json:"rule"`
	Kept         int64  `json:"keptEvents"`
	KeptBytes    int64  `json:"keptBytes"`
	Removed      int64  `json:"removedEvents"`
	RemovedBytes int64  `json:"removedBytes"`
}

// storage looks at the disk. What cannot be read is logged and shown as 0.
func (p *Program) storage() (s storage) {
	var err error
	warn := func(what string) {
		if err != nil {
			p.Logger.Warn("metrics incomplete", "what", what, "error", err)
		}
	}
	s.FreeBytes, err = p.data.store.FreeBytes()
	warn("free disk space")
	for _, one := range p.data.projections() {
		var st store.Stats
		st, err = one.log.Stats()
		warn(one.log.Name())
		if one.log == p.data.store.Readings() {
			st.Refused += p.payloads.Refused()
		}
		s.Streams = append(s.Streams, streamUse{st.Stream, st.First, st.Last, st.Bytes, st.Refused, st.Reserve, st.Skipped})
	}
	s.Archive, err = p.archiver.use()
	warn("archives")
	s.Retention = p.keeping.use()
	use, err := p.payloads.Use()
	if err != nil {
		p.Logger.Warn("metrics incomplete", "what", "payloads", "error", err)
	}
	s.Unrecorded = p.engine.Refused() + p.delivery.Refused()
	s.Payloads = payloadUse{use.Count, use.Bytes, p.payloads.Damaged()}
	return s
}

// logDir is where the log is.
func (c *Config) logDir() string { return filepath.Join(c.DataDir, "nats") }

// secretsFile is where the secrets are.
func (c *Config) secretsFile() string { return filepath.Join(c.DataDir, "secrets.json") }

// payloadDir is where values are kept that are too large for the log.
func (c *Config) payloadDir() string { return filepath.Join(c.DataDir, "payloads") }

// use is what each rule keeps and has removed.
func (r *retention) use() []ruleUse {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]ruleUse, len(r.rules))
	for i, rule := range r.rules {
		list[i] = ruleUse{rule.String(), r.kept[i].count, r.kept[i].bytes, r.removed[i].count, r.removed[i].bytes}
	}
	return list
}

// payloadUse is what the files in payloads/ take, and how many reads since the start found one of them damaged.
type payloadUse struct {
	Count   int64  `json:"count"`
	Bytes   int64  `json:"bytes"`
	Damaged uint64 `json:"damagedReads"`
}

// ready says of a service whether it takes what is sent to it: whether its log does, and, of readings, whether there is room
// for those that are files.
func (p *Program) ready(service string) func() error {
	log := map[string]*store.Log{metadataService: p.data.store.Events(), notificationsService: p.data.store.Notifications()}[service]
	if log == nil {
		return p.readyForReadings
	}
	return func() error { return p.readyFor(log) }
}

func (p *Program) readyFor(log *store.Log) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.Config.LimitReadTime)
	defer cancel()
	if err := p.data.store.Health(ctx); err != nil {
		return err
	}
	if err := p.data.health(); err != nil {
		return err
	}
	return log.Ready()
}

func (p *Program) readyForReadings() error {
	if err := p.readyFor(p.data.store.Readings()); err != nil {
		return err
	}
	if err := p.payloads.Err(); err != nil {
		return err
	}
	dir := p.Config.payloadDir()
	if free, err := store.FreeBytes(dir); err == nil && free < uint64(p.Config.DiskReadingsReserve) {
		return domain.Errorf(domain.Full, "the disk is full: %d bytes are free in %s, and the reserve is %s (setting disk-readings-reserve); free some space or lower the reserve", free, dir, &p.Config.DiskReadingsReserve)
	}
	return nil
}
