//go:build !linux

package projections

// aside calls f; there, threads have no nice value of their own.
func aside(f func()) { f() }
