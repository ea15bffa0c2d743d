package main

import (
	"fmt"
	"os"
	"strings"
)

// memory is what a process takes, in MB of a million bytes. Pages of files are shared with the system's cache, which
// can take them back; anonymous ones are the process's own.
type memory struct{ resident, anonymous float64 }

// memoryOf asks Linux; elsewhere it is an error.
func memoryOf(pid int) (m memory, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		var kib float64
		if _, err := fmt.Sscanf(value, "%f kB", &kib); err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			m.resident = kib * 1024 / 1e6
		case "RssAnon":
			m.anonymous = kib * 1024 / 1e6
		}
	}
	return m, nil
}
