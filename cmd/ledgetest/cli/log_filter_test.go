package cli

import (
	"os/exec"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

func TestLogFilterFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--since", "yesterday"}, {"--until", "2026-13-01"}, {"--type", "[a"}, {"--actor", "[a"}, {"-n", "-1"}, {"-n", "1000001"}, {"-n", "1", "--from", "2"}, {"-f", "--until", "1h"},
	} {
		if _, stderr, code := ledgetest.Run(t, append([]string{"log", "--data-dir", t.TempDir()}, args...)...); code != exit.Usage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestLogFollowsFromNow holds that -f prints nothing from before, or as much as -n says.
func TestLogFollowsFromNow(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("before-1")
	p.AddDevice("before-2")
	follow := func(args ...string) *ledgetest.Output {
		cmd := exec.Command(ledgetest.Binary, append([]string{"log", "-f", "--type", "device.added", "--data-dir", p.Dir}, args...)...)
		out := &ledgetest.Output{More: make(chan struct{}, 1)}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return out
	}
	some, none := follow("-n", "1"), follow()
	ledgetest.Until(t, "the newest of before", func() bool { _, ok := some.Find("before-2"); return ok })
	n := 0
	ledgetest.Until(t, "what was added after the start", func() bool { // nothing says when the second follower has begun
		n++
		p.AddDevice("after-" + string(rune('a'+n/26)) + string(rune('a'+n%26)))
		_, ok := none.Find("after-")
		return ok
	})
	for name, out := range map[string]*ledgetest.Output{"-n 1": some, "without -n": none} {
		if _, ok := out.Find("before-1"); ok {
			t.Errorf("%s printed what is older", name)
		}
	}
	if _, ok := none.Find("before-2"); ok {
		t.Error("-f printed what was there before")
	}
}
