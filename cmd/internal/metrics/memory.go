package metrics

import (
	"fmt"
	"os"
	"strings"
)

// memoryUse is the resident memory of the process, in bytes: its own pages, and pages of files that it maps.
type memoryUse struct{ anonymous, mapped int64 }

// ownMemory asks Linux; elsewhere the list is empty.
func ownMemory() []withLabels[memoryUse] {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	return unlabelled(memoryIn(string(text)))
}

// memoryIn reads the status of a process as Linux shows it.
func memoryIn(status string) (u memoryUse) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		var kib int64
		if _, err := fmt.Sscanf(value, "%d kB", &kib); err != nil {
			continue
		}
		switch name {
		case "RssAnon":
			u.anonymous = kib << 10
		case "RssFile", "RssShmem":
			u.mapped += kib << 10
		}
	}
	return u
}
