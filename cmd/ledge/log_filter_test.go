package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

func TestSubjectPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, subject string
		want             bool
	}{
		{"ledge.event.device.cam-1.added", "ledge.event.device.cam-1.added", true},
		{"ledge.*.device.*.added", "ledge.event.device.cam-1.added", true},
		{"ledge.>", "ledge.event.device.cam-1.added", true},
		{"ledge.event.device.cam-1.added.>", "ledge.event.device.cam-1.added", false},
		{"ledge.event", "ledge.event.device", false},
		{"ledge.event.*", "ledge.event.device.x", false},
		{"ledge.>.x", "ledge.event.x", false},
	} {
		if got := subjectMatches(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("%s, %s: got %v", tt.pattern, tt.subject, got)
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

// holdStarts holds that little of the log is read for what is chosen.
func holdStarts(t *testing.T, dir string, late time.Time) {
	t.Helper()
	c := &Config{}
	if err := c.settings().Parse([]string{"--data-dir", dir}); err != nil {
		t.Fatal(err)
	}
	l, err := openLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for name, f := range map[string]*logFilter{
		"since": {since: late, last: -1}, "last": {last: 1}, "device": {device: "cam-1", last: -1}, "subject": {subject: "ledge.reading.>", last: -1},
	} {
		starts, err := f.starts(t.Context(), l.Logs())
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
