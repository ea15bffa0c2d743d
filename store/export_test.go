package store

import (
	"context"

	"ledge/domain"

	"github.com/nats-io/nats-server/v2/server"
)

// OnSync calls f with each block file, its size when it was synced, and with each folder of blocks (size -1), after the sync.
func (l *Log) OnSync(f func(path string, size int64)) {
	file, folder := l.blocks.file, l.blocks.folder
	l.blocks.file = func(path string) (int64, error) {
		size, err := file(path)
		f(path, size)
		return size, err
	}
	l.blocks.folder = func(path string) error {
		err := folder(path)
		f(path, -1)
		return err
	}
}

// MoveBlocks has the log look for its blocks in another folder, as if the server's layout had changed.
func (l *Log) MoveBlocks(dir string) { l.blocks.dir, l.blocks.last, l.blocks.size = dir, 0, 0 }

// Compress has the server compress the log's blocks from now on, all but the last one.
func (l *Log) Compress(ctx context.Context) error {
	c := streamConfig(l.stream, l.store.o.retention(l.stream))
	c.Compression = server.S2Compression
	_, err := callStream(ctx, l.store.node.write, "UPDATE", l.name, c)
	return err
}

// SyncsAlways reports whether the server syncs every message by itself.
func (s *Store) SyncsAlways() bool { return s.syncAlways.Load() }

// Chained exposes the hash.
var Chained = nextChain

// Intrude publishes to the log past its appender.
func (l *Log) Intrude(subject string) error {
	_, err := l.store.node.write.Request(l.ingest+subject, []byte("intruder"), apiWait)
	return err
}

// Waiting returns the number of submissions that wait.
func (a *Appender) Waiting() int {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return len(a.queue.waiting)
}

// RoomAwaited reports whether somebody has waited for room since there was some.
func (a *Appender) RoomAwaited() bool {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return a.queue.room != nil
}

// FailSyncs has every sync of a block file fail from now on.
func (l *Log) FailSyncs(err error) {
	l.blocks.file = func(string) (int64, error) { return 0, err }
}

// Stalled returns what an appender does whose taps take nothing until take is called.
func Stalled(l *Log, p Projection) (submit func(domain.Request) domain.Outcome, take func()) {
	a := &Appender{log: l, projection: p, recent: newRecent(0, 10, 1<<20), live: &live{log: l, groups: make(chan liveGroup)}}
	submit = func(r domain.Request) domain.Outcome {
		s := &submission{ctx: context.Background(), requests: []domain.Request{r}, outcomes: make([]domain.Outcome, 1), done: make(chan struct{})}
		go a.group([]item{{s, 0}})
		<-s.done
		return s.outcomes[0]
	}
	return submit, func() { <-a.live.groups }
}
