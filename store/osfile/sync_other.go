//go:build !unix

package osfile

// SyncDir does nothing: the system keeps no handle on folders to sync.
func SyncDir(string) error { return nil }
