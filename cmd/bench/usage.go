package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// memory is what a process takes, in MB of a million bytes. Pages of files are shared with the system's cache, which
// can take them back; anonymous ones are the process's own. peak is the most that was
// resident so far.
type memory struct{ resident, anonymous, peak float64 }

// memoryOf asks Linux; elsewhere it is not known.
func memoryOf(pid int) (m memory, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, false
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
		case "VmHWM":
			m.peak = kib * 1024 / 1e6
		case "RssAnon":
			m.anonymous = kib * 1024 / 1e6
		}
	}
	return m, true
}

const (
	idleStep  = 50 * time.Millisecond
	idleLimit = 5 * time.Second
)

// awaitIdle waits until the process has nothing to do, so that what it does after its answers does not slow the other side
// down: Ledge still tells of the changes that it has answered.
func (p *process) awaitIdle(ctx context.Context) error {
	before := p.cpu()
	for quiet, from := 0, time.Now(); quiet < 2 && time.Since(from) < idleLimit; {
		select {
		case <-time.After(idleStep):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		now := p.cpu()
		if quiet++; now > before {
			quiet = 0
		}
		before = now
	}
	return nil
}

// tick is the unit in which Linux tells processor time.
const tick = 10 * time.Millisecond

// cpu is the processor time that the process has used; 0 where it is not told.
func (p *process) cpu() time.Duration {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])) // after the name, which may hold spaces
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}
