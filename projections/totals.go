package projections

import "sync"

// totals remembers how many entities pass some filters together, which takes a walk to find out, as of the file's last
// transaction: so that only the first of the pages that a client asks for takes it.
type totals struct {
	mu    sync.Mutex
	tx    int
	known map[string]int
}

const (
	mostTotals   = 64
	longestTotal = 1 << 10 // bytes of filters
)

// filters is what s is known by, "" where it is not worth to be.
func (s *search) filters() string {
	var key []byte
	for _, one := range s.extents {
		key = append(key, one.prefix...)
	}
	for _, o := range s.others {
		key = append(key, o.prefix...)
	}
	if s.timed() || len(s.tests) > 0 || len(key) > longestTotal { // such are most often not asked for again
		return ""
	}
	return string(key)
}

func (t *totals) get(tx int, filters string) (total int, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tx == tx {
		total, known = t.known[filters]
	}
	return total, known
}

func (t *totals) put(tx int, filters string, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if filters == "" || tx < t.tx {
		return
	}
	if tx > t.tx || len(t.known) == mostTotals {
		t.tx, t.known = tx, map[string]int{}
	}
	t.known[filters] = total
}
