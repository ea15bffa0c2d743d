package projections

import (
	"fmt"
	"sync"
	"time"
)

// defaultSyncEvery keeps what a Close has left to write small, and lets a file at rest survive a power cut.
const defaultSyncEvery = time.Minute

// syncer is the goroutine that syncs now and then, and the one that flushes.
type syncer struct {
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// Sync brings everything that was applied to the disk. The file stays marked as written to.
func (d *DB) Sync() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.flushWriting(d.at().seq); err != nil {
		return err
	}
	return d.sync()
}

func (d *DB) sync() error {
	if d.applied == 0 {
		return nil
	}
	if err := d.bolt.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", d.path, err)
	}
	d.applied = 0
	return nil
}

func (d *DB) startSyncing(every time.Duration) {
	if every == 0 {
		every = defaultSyncEvery
	}
	d.stop = make(chan struct{})
	if every < 0 {
		return
	}
	d.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-d.stop:
				return
			case <-tick.C:
				if err := d.settle(); err != nil {
					d.log.Warn("projection not synced", "file", d.path, "error", err)
				}
			}
		}
	})
}

func (d *DB) stopSyncing() {
	d.once.Do(func() { close(d.stop) })
	d.done.Wait()
}

// settle syncs a file that is being written to, and marks one that is not as clean: of what it has, which the next flush
// changes.
func (d *DB) settle() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	switch {
	case d.closed || d.failed() != nil || d.mark.boot == "":
		return nil
	case d.applied > 0:
		return d.sync()
	default:
		return d.writeMark(mark{d.mark.schema, ""})
	}
}
