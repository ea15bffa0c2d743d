package projections

// slab is memory for many small slices that are needed for as long as each other.
type slab[E any] struct {
	least int // elements of the first piece
	most  int // elements that a reset keeps memory for; 0 for as many as there were
	piece []E
	used  int // elements in the pieces before
}

// add copies elements to where they stay until the reset.
func (s *slab[E]) add(elements ...E) []E {
	if cap(s.piece)-len(s.piece) < len(elements) {
		s.used += len(s.piece)
		s.piece = make([]E, 0, max(2*cap(s.piece), s.least, len(elements)))
	}
	from := len(s.piece)
	s.piece = append(s.piece, elements...)
	return s.piece[from:len(s.piece):len(s.piece)]
}

// reset takes all back, and keeps memory for as much again, unless it is far more than that, or more than most.
func (s *slab[E]) reset() {
	used := s.used + len(s.piece)
	clear(s.piece)
	s.piece, s.used = s.piece[:0], 0
	if cap(s.piece) > max(4*used, s.least) || s.most > 0 && cap(s.piece) > s.most {
		s.piece = nil
	}
}
