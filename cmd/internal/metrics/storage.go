package metrics

import (
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/retention"
)

// Storage is the metrics' view of the stored data. All bytes are of the disk or of values.
type Storage struct {
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

// Storage looks at the disk. A figure that cannot be read is logged and shown as 0.
func (m *Meters) Storage() (s Storage) {
	s = m.ChangesUse()
	for _, one := range m.Node.Parts() {
		s.Streams = append(s.Streams, m.useOf(one))
	}
	s.Retention = m.Remover.RuleUses()
	s.Unrecorded = m.unrecorded()
	s.Payloads = m.payloadUse()
	return s
}

// ChangesUse is of the disk and the log of changes.
func (m *Meters) ChangesUse() (s Storage) {
	var err error
	s.FreeBytes, err = m.Node.Store.FreeBytes()
	m.warnMetric("free disk space", err)
	s.Archive, err = m.Remover.ArchiveUse()
	m.warnMetric("archives", err)
	return s
}

func (m *Meters) payloadUse() payloadUse {
	use, err := m.Payloads.Use()
	m.warnMetric("payloads", err)
	return payloadUse{use.Count, use.Bytes, m.Payloads.Damaged()}
}

func (m *Meters) useOf(one *node.Part) streamUse {
	st, err := one.Log.Stats()
	m.warnMetric(one.Log.Name(), err)
	if one.Log == m.Node.Readings.Log {
		st.Refused += m.Payloads.Refused()
	}
	return streamUse{st.Stream, st.First, st.Last, st.Bytes, st.Refused, st.Reserve, st.Skipped}
}

// payloadUse is what the files in payloads/ take, and how many reads since the start found one of them damaged.
type payloadUse struct {
	Count   int64  `json:"count"`
	Bytes   int64  `json:"bytes"`
	Damaged uint64 `json:"damagedReads"`
}

// PayloadBytes returns the size of the values that are kept as files beside the log, in bytes.
func (m *Meters) PayloadBytes() int64 { return m.payloadUse().Bytes }

// StreamBytes returns the size of the files of a log, in bytes.
func (m *Meters) StreamBytes(one *node.Part) int64 { return m.useOf(one).Bytes }
