package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestPowerCutLeavesWhatWasSynced traces the system calls of the process from an empty folder on, and starts from
// nothing but the bytes and the names that had been synced at some acknowledged moments.
func TestPowerCutLeavesWhatWasSynced(t *testing.T) {
	t.Parallel()
	trace, runner := mustTrace(t)
	cuts := 4
	if testing.Short() {
		cuts = 1
	}
	random := rand.New(rand.NewPCG(*seed, 2))
	l, dir := newWorkload(t, *seed), t.TempDir()
	p := launchUnder(t, runner, dir)
	if err := p.waitReady(); err != nil {
		t.Fatalf("ledge serve: %v\n%s", err, p.log)
	}
	type moment struct {
		known    known
		readings map[string]bool
		at       time.Time
	}
	var moments []moment
	l.run(p, 1+random.IntN(50), func() {
		for range cuts - 1 {
			moments = append(moments, moment{l.known(), l.acknowledged(), time.Now()})
			l.awaitMore(1 + random.IntN(100))
		}
		moments = append(moments, moment{l.known(), l.acknowledged(), time.Now()})
		killTraced(t, p)
	}, nil)
	calls := readTrace(t, trace)
	for i, m := range moments {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			d := &disk{root: dir, files: map[string]*file{}, names: map[string]*file{}}
			after := t.TempDir()
			files := d.cut(t, calls, m.at, after)
			t.Logf("%d files, %d readings", files, len(m.readings))
			checkAfterCut(t, l, after, m.known, m.readings)
		})
	}
}

// mustTrace returns what runs a program and writes its system calls to files of a prefix, or skips the test.
func mustTrace(t *testing.T) (prefix string, runner []string) {
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

// killTraced kills the program that p's tracer runs; the tracer ends with it.
func killTraced(t *testing.T, p *process) {
	t.Helper()
	line, _ := p.log.find(`"msg":"ready"`)
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
	p.wait()
}
