package store

import (
	"errors"
	"fmt"
)

// SyncError is the error for a log one of whose files could not be synced. Linux reports a failed fsync once, marks the
// pages clean, and answers reads from them: nothing that is read back and no later fsync proves that anything is on the
// disk. So the log refuses until the process starts again, and that start writes the tail anew before it trusts it.
type SyncError struct {
	Stream string
	Err    error
}

func (e *SyncError) Error() string {
	return fmt.Sprintf("%s: fsync failed: %v; nothing more is acknowledged, because the disk may have lost what was written last: "+
		"check the disk and its cables, then start again", e.Stream, e.Err)
}

func (e *SyncError) Unwrap() error { return e.Err }

// final makes the log refuse for good if err says that an fsync failed, and reports whether it did.
func (l *Log) final(err error) bool {
	failed, ok := errors.AsType[*SyncError](err)
	if ok {
		l.fail(failed)
	}
	return ok
}
