package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// ledgeBinary is the real program.
var ledgeBinary string

// TestMain is the bare server where this binary is started as such, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && bareServers[os.Args[1]] != nil {
		fatal(bareServers[os.Args[1]](os.Args[2]))
		return
	}
	dir, err := os.MkdirTemp("", "bench-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if ledgeBinary = os.Getenv("TEST_LEDGE_BINARY"); ledgeBinary == "" { // `make test` has built it
		ledgeBinary = filepath.Join(dir, "ledge")
		build := exec.Command("go", "build", "-o", ledgeBinary, "ledge/cmd/ledge")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build ledge: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var tiny = counts{
	rounds: 1, limit: 200 * time.Millisecond, groups: 3, groupEvents: 100, requests: 40, arrays: 2, patches: 8, subscriptions: 20,
	events: 300, auditEvents: 3_000, devices: []int{0, 300}, starts: 1, idle: 10 * time.Millisecond, rebuildRound: 1,
	pageRounds: 1, pages: 16, readings: 3_000,
	bodies: []int{10_000, 100_000}, bodyRounds: 1, posts: 64, mixed: 600 * time.Millisecond,
}

// TestSections runs every section, as small as it can be, and holds that each row has figures.
func TestSections(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	r, dir, pgo := &report{}, t.TempDir(), filepath.Join(t.TempDir(), "pgo")
	if err := measure(ctx, options{ledge: ledgeBinary, dir: dir, pgo: pgo}, tiny, r); err != nil {
		t.Fatal(err)
	}
	checkProfile(t, pgo)
	rows := map[string]int{}
	for _, one := range r.Rows {
		rows[one.Section]++
		if one.Ledge.Value <= 0 || one.Bare != nil && (one.Bare.Value <= 0 || one.Ratio <= 0) || one.Spread.High <= 0 {
			t.Errorf("%s, %s: %+v", one.Section, one.Name, one)
		}
	}
	deliveries, events := 9, 4
	if mosquitto() != "" {
		deliveries += 2 // the latency over MQTT
		events++
	}
	for name, want := range map[string]int{"append": 4, "writers": 4, "http": 9, "latency": 7, "edgex": events, "delivery": deliveries, "rebuild": 3, "lists": 27, "readings": 44, "bodies": 8, "mixed": 7, "startup": 7, "console": len(consolePaths) + 3} {
		if rows[name] != want {
			t.Errorf("%s has %d rows, want %d", name, rows[name], want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// checkProfile holds that a profile is there, of the program, and names no file of this machine.
func checkProfile(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil || len(p.Sample) == 0 {
		t.Fatalf("profile of %v, %v", p, err)
	}
	if len(p.Mapping) == 0 {
		t.Error("no mapping to look at")
	}
	for _, m := range p.Mapping {
		if m.File != "" {
			t.Errorf("the profile names %s", m.File)
		}
	}
}

// TestReport holds that the table names what was missed, and that the JSON is complete.
func TestReport(t *testing.T) {
	r := &report{}
	r.begin(sections[0])
	ledge, bare := results{rates: series{50, 70, 60}}, results{rates: series{100, 100, 200}}
	r.add(ledge.against(bare, "things")).Target = atLeast(0.6, 0.5)
	r.begin(sections[1])
	r.add(row{Name: "start", Unit: "s", Ledge: figure{Value: 0.1}}).Target = below(0.2, "s", 0.1)
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{"60.0 /s", "100 /s", "0.50", "0.30–0.70", "≥ 0.60 MISS", "< 0.2 s pass", "missed: append, things: ≥ 0.60\n", "EdgeX"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	path := filepath.Join(t.TempDir(), "figures.json")
	if err := r.writeJSON(path); err != nil {
		t.Fatal(err)
	}
	var back report
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil || len(back.Rows) != 2 || back.Rows[0].Ratio != 0.5 {
		t.Errorf("read back %+v, %v", back.Rows, err)
	}
}

func TestSeries(t *testing.T) {
	s := series{5, 1, 4, 2, 3}
	if got := []float64{s.median(), s[:4].median(), s.quantile(0.99), s.quantile(0)}; fmt.Sprint(got) != "[3 3 5 1]" {
		t.Errorf("got %v", got)
	}
	if got := []string{number(0.123), number(12.34), number(1234567), number(999.6)}; fmt.Sprint(got) != "[0.12 12.3 1,234,567 1,000]" {
		t.Errorf("got %v", got)
	}
}
