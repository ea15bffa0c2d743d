package store

// Stats is what a log takes and keeps.
type Stats struct {
	Stream string
	// First and Last are the sequences between which all events are there; First is Last + 1 where there are none.
	First, Last uint64
	// Bytes is the size of the log's files.
	Bytes int64
	// Refused counts the requests that were refused because the disk is full, since the start.
	Refused uint64
	// Skipped counts the events that were read since the start and could not be decoded; see [Log.Skipped].
	Skipped int
	// Reserve is how many bytes of the disk must stay free for the log to take anything but removals.
	Reserve int64
}

// Stats looks at the log's files.
func (l *Log) Stats() (Stats, error) {
	last, _ := l.Last()
	bytes, err := l.blocks.Bytes()
	return Stats{
		Stream: l.name, First: l.First(), Last: last, Bytes: bytes, Refused: l.refusals.Load(), Skipped: len(l.Skipped()),
		Reserve: l.store.o.reserve(l.stream),
	}, err
}

// Ready returns why the log takes no events now: it is broken, or, with domain.Full, the disk is.
func (l *Log) Ready() error {
	if err := l.err(); err != nil {
		return refused(err)
	}
	if l.store.room() <= l.store.o.reserve(l.stream) {
		return l.full("less than the reserve is left")
	}
	return nil
}

// FreeBytes returns the free bytes on the disk of the store, as appends see them.
func (s *Store) FreeBytes() (uint64, error) { return s.free() }

// TotalBytes returns the size of the disk of the store; 0 if the system does not tell.
func (s *Store) TotalBytes() (uint64, error) { return TotalBytes(s.o.Dir) }
