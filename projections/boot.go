package projections

import (
	"os"
	"strings"
)

// bootIDFile changes with every start of the machine (Linux, proc_sys_kernel(5)).
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// bootID returns the machine's boot id, "" where it has none. Without one, no file that was not closed is trusted.
func bootID() string {
	b, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
