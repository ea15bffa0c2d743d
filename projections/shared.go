package projections

import "sync"

// shared keeps what views have read from the file of the rows that nearly every request asks for, its token, a device's profile and
// service, for the views after them: until the file changes, which is with the next flush. Rows in an overlay are not
// looked for here.
type shared struct {
	mu   sync.Mutex
	tx   int // the transaction of the file that the rows are as of
	rows map[sharedKey]any
}

type sharedKey struct {
	table byte
	key   string
}

// sharedRows bounds the rows, and sharedBytes each of them; others are read by each view.
const (
	sharedRows  = 256
	sharedBytes = 16 << 10
)

// get returns the row that a transaction sees, a pointer to a found of its table's type, if it is known.
func (s *shared) get(tx int, key sharedKey) (row any, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tx != tx {
		return nil, false
	}
	row, ok = s.rows[key]
	return row, ok
}

// put keeps a row that a transaction has read, unless a later one has begun to.
func (s *shared) put(tx int, key sharedKey, row any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case tx < s.tx:
		return
	case tx > s.tx || s.rows == nil:
		s.tx, s.rows = tx, map[sharedKey]any{}
	}
	if len(s.rows) < sharedRows {
		s.rows[key] = row
	}
}
