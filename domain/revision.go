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

// Gone are the sequences of the first and the last removal of an entity of one kind with one name.
type Gone struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// goneKey is the key in State.Gone of an entity that was removed.
func goneKey(kind, name string) string { return kind + "/" + name }

// goneFromStart is the key in State.Gone of a mark: the fold began with event 1, so that the table has all removals. A state that was
// restored from the snapshot of an older version has no mark.
const goneFromStart = "start"

// RemovalsOf returns the first and the last removal of an entity of a kind with a name, zeros for none. all is false if there may
// be more than the state knows of.
func RemovalsOf(s State, kind, name string) (removals Gone, all bool) {
	_, all = s.Gone.Get(goneFromStart)
	removals, _ = s.Gone.Get(goneKey(kind, name))
	return removals, all
}

// lastRemoval returns the sequence of the last removal of an entity of a kind with a name; 0 for none.
func lastRemoval(s State, kind, name string) uint64 {
	removals, _ := s.Gone.Get(goneKey(kind, name))
	return removals.Last
}

// noteRemoval notes the event at a sequence as the last removal of an entity.
func noteRemoval(s State, kind, name string, seq uint64) {
	removals, known := s.Gone.Get(goneKey(kind, name))
	if !known {
		removals.First = seq
	}
	removals.Last = seq
	s.Gone.Put(goneKey(kind, name), removals)
}

// noteStart notes that the fold began with event 1. A stream without entities has no table.
func noteStart(s State) {
	if s.Gone != nil {
		s.Gone.Put(goneFromStart, Gone{1, 1})
	}
}

func (e DeviceRemoved) noteAt(s State, seq uint64) { noteRemoval(s, "device", e.Device.Name, seq) }

func (e ProfileRemoved) noteAt(s State, seq uint64) { noteRemoval(s, "profile", e.Profile.Name, seq) }

func (e ServiceRemoved) noteAt(s State, seq uint64) { noteRemoval(s, "service", e.Service.Name, seq) }

func (e WatcherRemoved) noteAt(s State, seq uint64) { noteRemoval(s, "watcher", e.Watcher.Name, seq) }

func (e SubscriptionRemoved) noteAt(s State, seq uint64) {
	noteRemoval(s, "subscription", e.Subscription.Name, seq)
}

func (e UserRemoved) noteAt(s State, seq uint64) { noteRemoval(s, "user", e.User.Name, seq) }

func (e TokenRemoved) noteAt(s State, seq uint64) { noteRemoval(s, "token", e.Token.Name, seq) }
