package fold

import (
	"math"
	"os"
	"runtime"
)

// ahead is how much of the address space a file is mapped to beyond its length, in bytes: growing the mapping waits for all readers, and the
// check of a large file reads for a while. It costs no memory.
const ahead = 64 << 20

// mapSize returns how long the mapping of a file is to be, 0 for bbolt's own length. Windows makes the file as long as its mapping.
func mapSize(path string) int {
	info, err := os.Stat(path)
	if runtime.GOOS == "windows" || err != nil || info.Size() > math.MaxInt32-ahead && math.MaxInt == math.MaxInt32 {
		return 0
	}
	return int(info.Size()) + ahead
}
