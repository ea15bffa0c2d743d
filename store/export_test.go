package store

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
