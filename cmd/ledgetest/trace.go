package ledgetest

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// MustTrace returns what runs a program and writes its system calls to files of a prefix, or skips the test.
func MustTrace(t *testing.T) (prefix string, runner []string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("what was synced is seen with strace: Debian's package strace is not installed")
	}
	prefix = filepath.Join(t.TempDir(), "trace")
	runner = []string{strace, "-f", "-ff", "-y", "-ttt", "-T", "-s", "0", "--seccomp-bpf", "-e", "trace=" + tracedCalls, "-o", prefix}
	if out, err := exec.Command(runner[0], append(runner[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("what was synced is seen with strace: tracing another process (ptrace) is not allowed here: %v: %s", err, out)
	}
	return prefix, runner
}

// KillTraced kills the program that p's tracer runs; the tracer ends with it.
func KillTraced(t *testing.T, p *Node) {
	t.Helper()
	line, _ := p.Log.Find(`"msg":"ready"`)
	var ready struct{ PID int }
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.PID == 0 {
		t.Fatalf("no process id in %q", line)
	}
	traced, err := os.FindProcess(ready.PID)
	if err == nil {
		err = traced.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
}

// Seed is the seed of the durability tests: go test -seed N repeats a run.
var Seed = flag.Uint64("seed", 1, "seed of the durability tests")

// Line is a line of strace with its time, call, arguments, result and duration. OnFD and InQuote find a file in arguments.
var (
	Line    = regexp.MustCompile(`^(\d+\.\d+) (\w+)\((.*)\) = (\d+)(?:<.*>)? <(\d+\.\d+)>$`)
	OnFD    = regexp.MustCompile(`^\d+<([^>]*)>`)
	InQuote = regexp.MustCompile(`"([^"]*)"`)
)

// tracedCalls are those that matter to what is on the disk.
const tracedCalls = "openat,mkdirat,renameat,renameat2,unlinkat,pwrite64,write,ftruncate,fsync,fdatasync"
