package check

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/projections"
	"ledge/store"
	"ledge/store/payloads"
)

// Bodies are the payloads as the log tells of them. The log says too which readings were removed since, whose payloads
// may be gone. So the readings are looked up in the state of the running server, or in a fold of those that have payloads, in a folder of
// its own, however many there are.
type Bodies struct {
	dir      string // of the payloads
	log      *store.Log
	Fold     *projections.DB
	follows  bool // fold is the state of the running server: what is removed from the log leaves it before its payloads go
	Close    func()
	progress progressFunc

	count, bytes int64 // of payloads that are whole
	damaged      int64
	first        error           // the first damage
	lost         map[string]bool // the digests of what is damaged
}

// OpenBodies makes an empty fold. [Bodies.Take] fills it from the log, which may be nil if its bodies are not verified.
func OpenBodies(paths datadir.Paths, log *store.Log, logger *slog.Logger, at progressFunc) (*Bodies, error) {
	fold, remove, err := node.OpenFresh(datadir.StateFiles[2], projections.Readings, logger)
	if err != nil {
		return nil, node.WithCode(err)
	}
	return &Bodies{dir: paths.Payloads(), log: log, Fold: fold, Close: remove, progress: at}, nil
}

// Take folds the events about payloads.
func (b *Bodies) Take(group []domain.Recorded) error {
	var about []domain.Recorded
	for _, r := range group {
		if aboutPayloads(r.Event) {
			about = append(about, r)
		}
	}
	return b.Fold.Apply(about)
}

func aboutPayloads(e domain.Event) bool {
	switch e := e.(type) {
	case domain.ReadingPosted:
		return e.Digest != ""
	case domain.DataEventAdded:
		return slices.ContainsFunc(e.Readings, func(r domain.ReadingValue) bool { return r.Digest != "" })
	case domain.DataEventsRemoved:
		return true
	}
	return false
}

// verify looks at each payload that a reading refers to, in the order of the log, and counts the others. It names each that
// is damaged.
func (b *Bodies) verify(ctx context.Context, w io.Writer) error {
	last, _ := b.log.Last()
	if !b.follows {
		if _, err := b.Fold.Forget(ctx, b.log.First()); err != nil {
			return err
		}
	}
	for from := uint64(1); ; {
		list, next, err := b.Part(from)
		if err != nil {
			return err
		}
		if next == from || from > last {
			break
		}
		for _, r := range list {
			if err := b.check(ctx, w, r); err != nil {
				return err
			}
		}
		from = next
		b.progress("bodies", int64(next-1), int64(last))
	}
	unused, err := b.unused()
	if err != nil {
		return err
	}
	what := "whole,"
	if b.damaged > 0 {
		what = fmt.Sprintf("%d damaged, whole", b.damaged)
	}
	fmt.Fprintf(w, "payloads: %s %d bodies with %d bytes, %d files that no event refers to\n", what, b.count, b.bytes, unused)
	return nil
}

// Part lists readings with payloads from a sequence on, one for each payload, and returns the sequence to continue from.
func (b *Bodies) Part(from uint64) (list []domain.Reading, next uint64, err error) {
	v, done := b.Fold.View()
	defer done()
	events, err := v.RecordedFrom(from)
	if err != nil {
		return nil, from, err
	}
	for _, e := range events {
		from = e.Seq + 1
		for _, id := range e.Readings {
			r, ok := v.State.Readings.Get(id)
			if !ok || r.Digest == "" {
				continue
			}
			newest, _, err := node.FindNewest(v, r.Digest)
			if err != nil {
				return nil, from, err
			}
			if newest.ID == id {
				list = append(list, r)
			}
		}
	}
	return list, from, nil
}

// check looks at the payload of a reading. A fault is damage only if the reading is still there afterwards. Otherwise the next reading
// counts that refers to the payload.
func (b *Bodies) check(ctx context.Context, w io.Writer, r domain.Reading) error {
	for {
		fault, err := payloads.Check(ctx, b.dir, r.Digest, r.Size)
		if err != nil {
			return node.WithCode(err)
		}
		if fault == "" {
			b.count, b.bytes = b.count+1, b.bytes+r.Size
			return nil
		}
		other, seq, err := b.now(r)
		switch {
		case err != nil || other.ID == "":
			return err
		case other.ID == r.ID:
			b.report(w, r, seq, fault)
			return nil
		}
		r = other
	}
}

// now returns a reading if it is still there, with the sequence of its event, else another one with the same payload, if
// there is one.
func (b *Bodies) now(r domain.Reading) (other domain.Reading, seq uint64, err error) {
	v, done := b.Fold.View()
	defer done()
	other, ok := v.State.Readings.Get(r.ID)
	if !ok {
		other, _, err = node.FindNewest(v, r.Digest)
	}
	return other, domain.Revision(v.State.Readings, other.ID), err
}

func (b *Bodies) report(w io.Writer, r domain.Reading, seq uint64, fault string) {
	err := fmt.Errorf("%s: the body of sequence %d, reading %s, is damaged: %s: %s", b.log.Name(), seq, r.ID, filepath.Join(b.dir, r.Digest), fault)
	if b.damaged++; b.damaged == 1 {
		b.first = err
		b.lost = map[string]bool{}
	}
	b.lost[r.Digest] = true
	fmt.Fprintf(w, "damaged: %v\n", err)
}

const bodiesCure = "copy these files from a folder that `ledge restore` makes of a backup, or make a folder without their readings with `ledge salvage`"

// damage returns the damage that verify has found, nil if all is whole.
func (b *Bodies) damage() error {
	if b.damaged == 0 {
		return nil
	}
	return exit.With(exit.Damaged, fmt.Errorf("%w; %d in all; %s", b.first, b.damaged, bodiesCure))
}

// unused counts the files that no reading refers to.
func (b *Bodies) unused() (n int, err error) {
	for names, err := range payloads.Names(b.dir) {
		if err == nil {
			names, err = b.unreferred(names)
		}
		if err != nil {
			return n, node.WithCode(err)
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(b.dir, name)); err == nil { // it was not collected meanwhile
				n++
			}
		}
	}
	return n, nil
}

// unreferred returns those of the names that no reading refers to.
func (b *Bodies) unreferred(names []string) (unused []string, err error) {
	v, done := b.Fold.View()
	defer done()
	for _, name := range names {
		_, n, err := node.FindNewest(v, name)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			unused = append(unused, name)
		}
	}
	return unused, nil
}
