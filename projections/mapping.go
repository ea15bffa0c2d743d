//go:build !windows

package projections

// mapSize is how much of the address space a file is mapped to from the start, in bytes: growing the mapping waits for
// all readers. It costs no memory.
const mapSize = 64 << 20
