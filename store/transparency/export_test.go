package transparency

// SetPiece makes the pieces of a tree smaller, in groups of 256 events.
func (t *Tree) SetPiece(groups int64) { t.piece = groups }
