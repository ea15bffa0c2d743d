package cli

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"ledge/cmd/ledgetest"
)

// `ledge log -f` goes on over a stop and a crash of the server: nothing of a stream is left out or comes twice, and Ctrl-C
// ends it, also while the server is away.
func TestLogFollowsOverRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	follow := exec.Command(ledgetest.Binary, "log", "-f", "--from", "1", "--json", "--data-dir", dir)
	out, errs := &ledgetest.Output{More: make(chan struct{}, 1)}, &ledgetest.Output{More: make(chan struct{}, 1)}
	follow.Stdout, follow.Stderr = out, errs
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = follow.Process.Kill() })
	printed := func(name string) {
		t.Helper()
		p.AddDevice(name)
		ledgetest.Until(t, name+" to be printed", func() bool {
			_, there := out.Find(`"name":"` + name + `"`)
			return there
		})
	}
	told := func(what string, times int) { // stderr has a pipe of its own, and may come later than what is printed
		t.Helper()
		ledgetest.Until(t, "the follower to say that the server "+what, func() bool { return strings.Count(errs.String(), what) == times })
	}
	printed("one")
	p.Stop()
	told("is away", 1) // a server that starts at once is not missed
	p = ledgetest.Start(t, dir)
	printed("two")
	p.Kill()
	told("is away", 2)
	p = ledgetest.Start(t, dir)
	printed("three")
	told("is there again", 2)
	if text := errs.String(); strings.Count(text, "\n") != 4 {
		t.Errorf("stderr over two restarts:\n%s", text)
	}
	p.Kill()
	told("is away", 3)
	_ = follow.Process.Signal(syscall.SIGINT)
	if err := follow.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, errs)
	}
	holdContiguous(t, out.String())
}

// holdContiguous holds that each stream is printed from its first message on without a gap or a repeat.
func holdContiguous(t *testing.T, lines string) {
	t.Helper()
	last := map[string]uint64{}
	for line := range strings.Lines(lines) {
		var m struct {
			Subject string
			Seq     uint64
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		stream := strings.Split(m.Subject, ".")[1]
		if m.Seq != last[stream]+1 {
			t.Errorf("%s %d follows %d", stream, m.Seq, last[stream])
		}
		last[stream] = m.Seq
	}
}
