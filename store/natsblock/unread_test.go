package natsblock

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// badSectors is a file of a disk that cannot read some bytes.
type badSectors struct {
	*bytes.Reader
	bad map[int]int // from, to
}

var errSector = errors.New("input/output error")

func (f badSectors) ReadAt(b []byte, at int64) (int, error) {
	most := len(b)
	for from, to := range f.bad {
		if int(at) < to && int(at)+most > from {
			most = max(from-int(at), 0)
		}
	}
	n, err := f.Reader.ReadAt(b[:most], at)
	if most < len(b) {
		err = errSector
	}
	return n, err
}

// TestUnreadSectors reads a file of which the disk cannot read some sectors: all others are read, and these are zeros. Before, nothing was read behind the first.
func TestUnreadSectors(t *testing.T) {
	const k = 1 << 10
	text := bytes.Repeat([]byte("x"), 50*k)
	for _, tt := range []struct {
		name  string
		bad   map[int]int
		zeros []int64
	}{
		{"none", nil, nil},
		{"the first", map[int]int{0: 512}, []int64{0}},
		{"two in the middle", map[int]int{8 * k: 16 * k}, []int64{8 * k, 12 * k}},
		{"one, and the last", map[int]int{21 * k: 22 * k, 49 * k: 50 * k}, []int64{20 * k, 48 * k}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := bytes.Repeat([]byte("o"), len(text))
			s := Scan{}
			n := s.read(badSectors{bytes.NewReader(text), tt.bad}, got, 0)
			if n != len(text) || !slices.Equal(s.unread, tt.zeros) || (s.failure == errSector) != (tt.bad != nil) {
				t.Errorf("%d bytes, sectors %v, %v", n, s.unread, s.failure)
			}
			want := bytes.Clone(text)
			for from, to := range tt.bad {
				clear(want[from:min((to+4*k-1)/(4*k)*4*k, len(want))])
			}
			if !bytes.Equal(got[:n], want) {
				t.Error("it is not what the file has")
			}
		})
	}
}
