package projections

// Stats is the size of a projection.
type Stats struct {
	// Checkpoint is the sequence of the last event that was applied.
	Checkpoint uint64
	// Bytes is the length of the file.
	Bytes int64
	// Count is how many entities each table has, by the table's name.
	Count map[string]int
}

// Stats returns the size of the projection at the checkpoint, or, where that cannot be read, of what is in the file, or zeros.
func (d *DB) Stats() Stats {
	v, release := d.View()
	defer release()
	_ = v.flushed()
	s := Stats{Count: map[string]int{}}
	if v.rows == nil {
		return s
	}
	err := guarded(func() error {
		s.Bytes, s.Checkpoint = v.tx.Size(), v.filed.seq
		for _, t := range held[d.tables] {
			if name, all, ok := t.counted(); ok {
				s.Count[name] = int(tallyAt(v.rows, all, "").count)
			}
		}
		return nil
	})
	_ = d.noteDamage(err)
	return s
}
