package cli

import (
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logs"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/domain/eventlog"
)

func TestLogFilterFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--since", "yesterday"}, {"--until", "2026-13-01"}, {"--type", "[a"}, {"--actor", "[a"}, {"--name", "[a"}, {"--device", "cam-1", "--entity", "device"}, {"-n", "-1"}, {"-n", "1000001"}, {"-n", "1", "--from", "2"}, {"-f", "--until", "1h"},
	} {
		if _, stderr, code := ledgetest.Run(t, append([]string{"log", "--data-dir", t.TempDir()}, args...)...); code != exit.Usage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestLogFilters compares each filter with the same choice from the whole log, beside a server and without one.
func TestLogFilters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	for _, name := range []string{"cam-1", "cam-2", "cam-3"} {
		p.AddDevice(name)
		p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/"+name+"/jpeg", "image/jpeg", name)
	}
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"c","content":"x","sender":"s","severity":"NORMAL"}}]`, http.StatusCreated)
	compare := func() {
		t.Helper()
		all := ledgetest.Logged(t, dir)
		choose := func(f func(ledgetest.LogLine) bool) []ledgetest.LogLine {
			return slices.DeleteFunc(slices.Clone(all), func(l ledgetest.LogLine) bool { return !f(l) })
		}
		last := func(n int, list []ledgetest.LogLine) []ledgetest.LogLine { return list[len(list)-n:] }
		middle := all[len(all)/2].Time
		for _, tt := range []struct {
			args []string
			want []ledgetest.LogLine
		}{
			{[]string{"--type", "device.added"}, choose(func(l ledgetest.LogLine) bool { return strings.HasPrefix(l.Type, "device.added/") })},
			{[]string{"--type", "device.*/1"}, choose(func(l ledgetest.LogLine) bool {
				return strings.HasPrefix(l.Type, "device.") && strings.HasSuffix(l.Type, "/1")
			})},
			{[]string{"--device", "cam-2"}, choose(func(l ledgetest.LogLine) bool { return strings.Contains(l.Subject, ".cam-2.") })},
			{[]string{"--device", "cam-*"}, choose(func(l ledgetest.LogLine) bool { return strings.Contains(l.Subject, ".cam-") })},
			{[]string{"--entity", "device", "--name", "*-2"}, choose(func(l ledgetest.LogLine) bool {
				return strings.Contains(l.Subject, ".cam-2.")
			})},
			{[]string{"--entity", "notification"}, choose(func(l ledgetest.LogLine) bool {
				return strings.HasPrefix(l.Type, "notification") || strings.HasPrefix(l.Type, "transmission")
			})},
			{[]string{"--actor", "anonymous@127.0.0.1"}, choose(func(l ledgetest.LogLine) bool { return l.Actor == "anonymous@127.0.0.1" })},
			{[]string{"--actor", "an*", "-n", "2"}, last(2, choose(func(l ledgetest.LogLine) bool { return strings.HasPrefix(l.Actor, "an") }))},
			{[]string{"--actor", "ledge"}, choose(func(l ledgetest.LogLine) bool { return l.Actor == "ledge" })},
			{[]string{"--subject", "ledge.reading.>"}, choose(func(l ledgetest.LogLine) bool { return l.Stream == "reading" })},
			{[]string{"--since", middle.Format(time.RFC3339Nano)}, choose(func(l ledgetest.LogLine) bool { return !l.Time.Before(middle) })},
			{[]string{"--until", middle.Format(time.RFC3339Nano)}, choose(func(l ledgetest.LogLine) bool { return l.Time.Before(middle) })},
			{[]string{"--since", "0s"}, nil},
			{[]string{"--since", "1d"}, all},
			{[]string{"-n", "0"}, nil},
			{[]string{"-n", "3"}, all[len(all)-3:]},
			{[]string{"-n", "100000"}, all},
			{[]string{"-n", "2", "--device", "cam-1"}, choose(func(l ledgetest.LogLine) bool { return strings.Contains(l.Subject, ".cam-1.") })[:2]},
		} {
			if len(tt.want) == 0 && tt.args[1] != "0" && tt.args[1] != "0s" {
				t.Fatalf("%v: nothing is to be chosen", tt.args)
			}
			if got := ledgetest.Logged(t, dir, tt.args...); !slices.Equal(got, tt.want) {
				t.Errorf("log %v:\ngot  %v\nwant %v", tt.args, got, tt.want)
			}
		}
	}
	p.AddConsoleUser(t, domain.Auditor) // by cli:USER
	cli := ledgetest.Logged(t, dir, "--actor", "cli:*")
	if name := strings.TrimPrefix(cli[0].Actor, "cli:"); len(cli) != 1 || !slices.Equal(ledgetest.Logged(t, dir, "--actor", name), cli) {
		t.Errorf("log --actor %s is not %v", name, cli)
	}
	compare()
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("stop: %d", code)
	}
	compare()
	all := ledgetest.Logged(t, dir)
	holdStarts(t, dir, all[len(all)-2].Time)
}

// holdStarts holds that little of the log is read for the chosen events.
func holdStarts(t *testing.T, dir string, late time.Time) {
	t.Helper()
	c := config.Default()
	if err := c.Settings().Parse([]string{"--data-dir", dir}); err != nil {
		t.Fatal(err)
	}
	l, err := logs.Open(t.Context(), c.Paths())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, f := range map[string]*logs.Filter{
		"since": {Filter: eventlog.Filter{Since: late}, Last: -1}, "last": {Last: 1},
		"device":  {Filter: eventlog.Filter{Entity: "device", Name: "cam-1", Commands: true}, Last: -1},
		"subject": {Filter: eventlog.Filter{Subject: "ledge.reading.>"}, Last: -1},
	} {
		starts, err := f.Starts(t.Context(), l.Logs())
		if err != nil {
			t.Fatal(err)
		}
		unread := func(i int) bool { last, _ := l.Logs()[i].Last(); return starts[i] == last+1 }
		switch name {
		case "since", "last":
			if starts[0] < 4 || starts[2] == 1 {
				t.Errorf("%s: the logs are read from %v", name, starts)
			}
		case "device":
			if !unread(1) || starts[0] != 1 {
				t.Errorf("device: the logs are read from %v", starts)
			}
		case "subject":
			if !unread(0) || !unread(1) || starts[2] != 1 {
				t.Errorf("subject: the logs are read from %v", starts)
			}
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
