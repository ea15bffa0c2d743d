// Package audit makes and checks the proofs of the log of changes: checkpoints, proofs of events, and that a log extends a checkpoint.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
	"ledge/cmd/internal/loop"
	"ledge/cmd/internal/secure"
	"ledge/domain"
	"ledge/store"
	"ledge/store/transparency"
)

// Key returns the key that signs the checkpoints of a node.
func Key(paths datadir.Paths) (*transparency.Key, error) {
	if err := datadir.MustExist(paths.Data); err != nil {
		return nil, err
	}
	file, err := secure.ReadSecrets(paths)
	if err != nil {
		return nil, err
	}
	node, err := store.ReadNode(paths.Log())
	if err != nil {
		return nil, exit.WithDamage(err)
	}
	seed, ok := file.StoredKey(transparency.KeyName)
	if !ok || node == "" {
		err := fmt.Errorf("data folder %s has no key of checkpoints; start once with `ledge serve`, which makes one", paths.Data)
		return nil, exit.With(exit.Folder, err)
	}
	return transparency.NewKey(transparency.Origin(node), seed)
}

// Log is the log of changes with its tree, as commands read them beside a server or without one.
type Log struct {
	*logs.Reader
	tree  *transparency.Tree
	paths datadir.Paths
}

// Open opens the log of a data folder. It changes nothing there.
func Open(ctx context.Context, paths datadir.Paths) (*Log, error) {
	r, err := logs.Open(ctx, paths)
	if err != nil {
		return nil, err
	}
	node, err := store.ReadNode(paths.Log())
	var tree *transparency.Tree
	if err == nil {
		tree, err = transparency.OpenReading(r.Logs()[0], paths.Tree(), node)
	}
	if err != nil {
		r.Close()
		return nil, exit.WithDamage(err)
	}
	return &Log{r, tree, paths}, nil
}

// Checkpoint returns a signed checkpoint of all events. A running server signs it.
func (l *Log) Checkpoint(ctx context.Context) (string, error) {
	if l.Server != "" {
		return l.askServer(ctx)
	}
	key, err := Key(l.paths)
	if err != nil {
		return "", err
	}
	if err := l.tree.Grow(ctx); err != nil {
		return "", exit.WithDamage(err)
	}
	return (&transparency.Log{Tree: l.tree, Key: key}).Checkpoint(ctx)
}

// showWait is how long a command waits until the events of a checkpoint can be read, and showPause the time between two looks. They are
// durable then, and readable as soon as the state has them.
const showWait, showPause = 10 * time.Second, 10 * time.Millisecond

// askServer returns the checkpoint of the running server, when all its events can be read.
func (l *Log) askServer(ctx context.Context) (string, error) {
	held, client, err := admin.Attach(l.paths.Data, false)
	if err != nil {
		return "", err
	}
	if held != nil {
		held.Close()
		return "", fmt.Errorf("the server of %s has ended; try again", l.paths.Data)
	}
	a, err := client.Ask(ctx, admin.Request{Do: "checkpoint"}, nil)
	if err != nil {
		return "", err
	}
	c, err := transparency.ParseCheckpoint(a.Checkpoint)
	if err != nil {
		return "", err
	}
	wait, enough := context.WithTimeout(ctx, showWait)
	defer enough()
	_ = loop.Every(wait, showPause, func(context.Context) { // err and the size tell the end
		if err = l.Refresh(ctx); err != nil || l.tree.Size() >= c.Size {
			enough()
		}
	})
	if err == nil && l.tree.Size() < c.Size {
		const says = "the server of %s has signed %d events and shows %d; try again"
		err = cmp.Or(ctx.Err(), fmt.Errorf(says, l.paths.Data, c.Size, l.tree.Size()))
	}
	return a.Checkpoint, err
}

// Prove returns the proof of the events from one sequence to another, with a new checkpoint.
func (l *Log) Prove(ctx context.Context, from, to uint64) (*transparency.Proof, error) {
	checkpoint, err := l.Checkpoint(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.tree.Grow(ctx); err != nil {
		return nil, exit.WithDamage(err)
	}
	if to == 0 {
		to = uint64(l.tree.Size())
	}
	p, err := l.tree.Prove(ctx, from, to, checkpoint)
	if domain.CodeOf(err) == domain.Invalid {
		err = exit.With(exit.Usage, err)
	}
	return p, exit.WithDamage(err)
}

// mostFileBytes bounds a file with a checkpoint or a proof, in bytes. In JSON, each byte of an event takes at most six.
const mostFileBytes = 8 * transparency.MostProven

// ReadFile reads a file with a checkpoint or a proof; - is standard input.
func ReadFile(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		defer f.Close()
		stdin = f
	}
	text, err := io.ReadAll(io.LimitReader(stdin, mostFileBytes+1))
	if err == nil && len(text) > mostFileBytes {
		err = fmt.Errorf("%s has more than %d bytes, and no proof has as many", name, mostFileBytes)
	}
	return text, err
}

// Progress is told how far a command has come, in events of a total.
type Progress = func(log string, done, total int64)

// VerifyCheckpoint checks that the log of a data folder extends a checkpoint that was kept elsewhere, and prints the result to w. With a
// verifier key it checks the signature too.
func VerifyCheckpoint(ctx context.Context, paths datadir.Paths, text, key string, w io.Writer, progress Progress) error {
	c, err := transparency.ParseCheckpoint(text)
	if err == nil && key != "" {
		if c, err = transparency.OpenCheckpoint(text, key); err != nil {
			return exit.With(exit.Damaged, err)
		}
	}
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	r, err := logs.Open(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Close()
	log := r.Logs()[0]
	last, err := transparency.Extends(ctx, log, c, func(done, total int64) { progress(log.Name(), done, total) })
	if errors.Is(err, transparency.ErrOther) {
		return exit.With(exit.Damaged, err)
	}
	if err != nil {
		return exit.WithDamage(err)
	}
	fmt.Fprintf(w, "%s: events 1 to %d extend the checkpoint of %d events of %s\n", log.Name(), last, c.Size, c.Origin)
	node, err := store.ReadNode(paths.Log())
	if own := transparency.Origin(node); err == nil && own != c.Origin {
		fmt.Fprintf(w, "the data folder is %s: it was made of a backup of that node, or of a copy\n", own)
	}
	return nil
}

// VerifyProof checks a proof with a verifier key and nothing else, and prints the events that it proves to w.
func VerifyProof(text []byte, key string, print func(store.Message) error, w io.Writer) error {
	p, err := transparency.ReadProof(text)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	c, err := p.Check(key)
	if err != nil {
		return exit.With(exit.Damaged, err)
	}
	for _, e := range p.Events {
		if err := print(e.Message()); err != nil {
			return err
		}
	}
	first, last := p.Events[0].Seq, p.Events[len(p.Events)-1].Seq
	span := fmt.Sprintf("event %d is", first)
	if last > first {
		span = fmt.Sprintf("events %d to %d are", first, last)
	}
	fmt.Fprintf(w, "%s: %s on the log of %s, which had %d events\n", p.Stream, span, c.Origin, c.Size)
	return nil
}
