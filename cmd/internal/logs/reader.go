// Package logs reads and prints the logs, from the files of a data folder or beside the server that has it.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/store"
)

// Reader is the log as a command reads it, from the files: up to where a running server says that it ends, or to its end.
type Reader struct {
	*store.Files
	Server string // of the running server; empty if none runs
	Close  func()
}

// Open opens the log, with the archives. It makes no data folder, and changes nothing in the one that is there.
func Open(ctx context.Context, paths datadir.Paths) (l *Reader, err error) {
	held, client, err := admin.Attach(paths.Data, false)
	if err != nil {
		return nil, err
	}
	if client != nil {
		l, err = OpenBeside(ctx, paths.Log(), client)
	} else {
		l = &Reader{Close: held.Close}
		l.Files, err = store.OpenFiles(ctx, paths.Log())
		err = node.WithCode(err)
	}
	if err == nil {
		err = l.OpenArchives(paths.Archives(), paths.Snapshots())
	}
	if err != nil && l != nil {
		l.Close()
	}
	return l, err
}

// OpenBeside opens the log in the folder dir beside the server, which says where the logs end.
func OpenBeside(ctx context.Context, dir string, server *admin.Client) (*Reader, error) {
	files, err := store.OpenRunning(ctx, dir, func(ctx context.Context, after store.Place) (map[string]store.Info, error) {
		a, err := server.Ask(ctx, admin.Request{Do: "ends", After: after}, nil)
		return a.Ends, err
	})
	if err != nil {
		return nil, err
	}
	return &Reader{Files: files, Server: server.Owner(), Close: func() {}}, nil
}

// SkipGaps has the log of changes read on behind archives that are missing or damaged, with a line for each.
func (l *Reader) SkipGaps(w io.Writer) {
	l.Logs()[0].SkipGaps(func(g *store.Gap) { fmt.Fprintf(w, "ledge: not printed: %v\n", g) })
}

// PrintFrom prints the events after seen until ctx ends, from one run of the server to the next. It tells stderr when the server of the
// data folder dir goes and comes.
func (l *Reader) PrintFrom(ctx context.Context, stderr io.Writer, dir string, filter *Filter, seen store.Place, print func(store.Message) error) error {
	for {
		err := l.Follow(ctx, filter.from, seen, func(m store.Message) error {
			if filter.matches(m) {
				return print(m)
			}
			return nil
		})
		if !errors.Is(err, admin.ErrAway) {
			return exit.WithDamage(err)
		}
		fmt.Fprintf(stderr, "ledge: the server of %s is away: %v; waiting for it\n", dir, err)
		if !l.await(ctx) {
			return nil
		}
		fmt.Fprintf(stderr, "ledge: the server of %s is there again, as process %s\n", dir, datadir.Owner(dir))
	}
}

// serverAgain is the time between two looks for a server that is away.
const serverAgain = time.Second

// await returns true when the server answers, and false when ctx ends.
func (l *Reader) await(ctx context.Context) bool {
	look := time.NewTicker(serverAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
		if l.Refresh(ctx) == nil {
			return true
		}
	}
}

// Place returns the sequences that a follower has seen before its beginning. It is empty if the follower begins at --from.
func (l *Reader) Place(ctx context.Context, filter *Filter) (store.Place, error) {
	seen := store.Place{}
	if filter.fromGiven {
		return seen, nil
	}
	starts, err := filter.Starts(ctx, l.Logs())
	for i, start := range starts {
		seen[l.Logs()[i].Name()] = start - 1
	}
	return seen, err
}

// PrintHistory prints the events of all streams that the filter chooses, merged by time.
func (l *Reader) PrintHistory(ctx context.Context, filter *Filter, print func(store.Message) error) error {
	messages := store.Merge(ctx, l.Logs(), filter.from)
	if !filter.fromGiven {
		starts, err := filter.Starts(ctx, l.Logs())
		if err != nil {
			return exit.WithDamage(err)
		}
		messages = store.MergeAt(ctx, l.Logs(), starts)
	}
	for m, err := range messages {
		if err == nil && filter.ends(m) {
			return nil
		}
		if err == nil && filter.matches(m) {
			err = print(m)
		}
		if err != nil {
			return exit.WithDamage(err)
		}
	}
	return nil
}
