package projections

import (
	"math"
	"sync"
)

// totals remembers how many entities pass some filters together, which takes a walk to find out, as long as the indexes have the
// same members: only the first of the pages that a client asks for takes the walk, also while entities change otherwise.
type totals struct {
	mu      sync.Mutex
	version uint64 // of the members
	known   map[string]int
}

// members says which version of the members a committed transaction has.
type members struct {
	tx      int
	version uint64
}

// committed notes that a transaction has all that was written. The caller holds DB.writing.
func (d *DB) committed(tx int) {
	d.file.members.Store(&members{tx, d.memberVersion})
	d.file.last.Store(int64(tx))
}

// unknownMembers is a version that nothing is remembered for.
const unknownMembers = math.MaxUint64

// memberVersion is the version of the members that the view reads.
func (v *View) memberVersion() uint64 {
	if m := v.file.members.Load(); m != nil && m.tx == v.tx.ID() {
		return m.version
	}
	return unknownMembers
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

func (t *totals) get(version uint64, filters string) (total int, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version == version {
		total, known = t.known[filters]
	}
	return total, known
}

func (t *totals) put(version uint64, filters string, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if filters == "" || version < t.version || version == unknownMembers {
		return
	}
	if version > t.version || t.known == nil || len(t.known) == mostTotals {
		t.version, t.known = version, map[string]int{}
	}
	t.known[filters] = total
}
