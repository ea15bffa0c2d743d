//go:build !unix

package payloads

// syncDir has nothing to do where folders cannot be synced: there a rename is as durable as the file.
func syncDir(string) error { return nil }
