package domain

// Revised is a Table that knows the revision of each entity: the sequence, in its stream, of the event that put it. So
// no two states of one name have the same, not even where it was removed and added again, and a rebuild gives the same.
// Decide and the answers to reads need it; a table that only folds need not have it.
type Revised interface {
	// Revision is 0 where there is no entity at key.
	Revision(key string) uint64
}

// Revision returns the revision of the entity at key, and 0 where there is none or where t knows of no revisions.
func Revision[S any](t Table[S], key string) uint64 {
	if r, ok := t.(Revised); ok {
		return r.Revision(key)
	}
	return 0
}
