//go:build !windows

package fold

import (
	"math"
	"os"
)

// ahead is how much of the address space a file is mapped to beyond its length, in bytes: growing the mapping waits for all readers, and the
// check of a large file reads for a while. It costs no memory.
const ahead = 64 << 20

func mapSize(path string) int {
	info, err := os.Stat(path)
	if err != nil || info.Size() > math.MaxInt32-ahead && math.MaxInt == math.MaxInt32 {
		return 0 // bbolt's own
	}
	return int(info.Size()) + ahead
}
