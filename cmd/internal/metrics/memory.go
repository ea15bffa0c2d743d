package metrics

import (
	"fmt"
	"os"
	"strings"
)

// memoryUse is the resident memory of the process, in bytes: its own pages, and pages of files that it maps.
type memoryUse struct{ anonymous, mapped int64 }

var ofMemory = []measure[memoryUse]{
	{"ledge_memory_anonymous_bytes", "Resident memory that is the process's own.", func(u memoryUse) float64 { return float64(u.anonymous) }},
	{"ledge_memory_mapped_bytes", "Resident pages of files that the process maps; the system takes them back when it needs memory.", func(u memoryUse) float64 { return float64(u.mapped) }},
}

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
