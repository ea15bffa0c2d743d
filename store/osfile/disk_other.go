//go:build !unix

package osfile

import "math"

// FreeBytes is not known here: the reserve is not kept.
func FreeBytes(string) (uint64, error) { return math.MaxInt64, nil }

// TotalBytes is not known here.
func TotalBytes(string) (uint64, error) { return 0, nil }
