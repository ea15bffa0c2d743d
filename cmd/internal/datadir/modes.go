package datadir

import (
	"fmt"
	"os"
	"runtime"
	"slices"
)

// Ledge makes its folders with mode 0700 and its files with 0600, as the NATS server does. The mode of a data folder that is
// there already is the operator's.

// MakePrivate gives the folder of the payloads its mode, which was 0750 once.
func MakePrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// WorldWritable warns about folders that every user of the machine may write to.
func WorldWritable(dirs ...string) (warnings []string) {
	if runtime.GOOS == "windows" { // where these modes say nothing
		return nil
	}
	for _, dir := range slices.Compact(dirs) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o002 != 0 {
			warnings = append(warnings, fmt.Sprintf("every user of this machine may write to the folder %s (mode %s), and so replace what is recorded; take that right away: chmod o-w %[1]s", dir, info.Mode()))
		}
	}
	return warnings
}
