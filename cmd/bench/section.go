package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// section is a part of the run that can be left out.
type section struct {
	name, title string
	run         func(ctx context.Context, b *bench) error
}

var sections []section

func init() { // not a literal: -only's text lists them
	sections = []section{
		{"append", "append: the log, in groups, against write and fsync of the same bytes to a plain file", appendGroups},
		{"writers", "writers: the log with its projection, many callers, against a plain file with one fsync for all that wait", appendWriters},
		{"http", "http: the real binary against a bare net/http handler with a map, a file and one fsync for all that wait", serveHTTP},
		{"secure", "secure: secure mode, with TLS and a token on kept connections, against open mode", serveSecure},
		{"latency", "latency: from sending a PATCH until the frame is in a SUB socket", patchLatency},
		{"bus", "bus: NATS consumers of the log", followBus},
		{"edgex", "edgex: events over NATS and MQTT until they are heard, against a bare NATS server and Mosquitto", edgexBus},
		{"delivery", "delivery: from the first PATCH until REST receivers have it, sent again every 100 ms", deliverREST},
		{"rebuild", "rebuild: reading and folding a log against reading it with nats.go alone", rebuildLog},
		{"audit", "audit: the past of entities in a long log, against reading as many bytes of the log; one client", auditLog},
		{"lists", "lists: pages of 20 from lists of devices, 8 clients", listPages},
		{"readings", "readings: pages of 20 from lists of readings, 8 clients; the readings came from the log, in events of 10", listReadings},
		{"console", "console: pages of the management UI, 4 clients", loadPages},
		{"bodies", "bodies: posting to the real binary against a bare handler that writes each body to a file and syncs it", postBodies},
		{"mixed", "mixed: adds, arrays, GETs and bodies of 10 KB and 1 MB in turns; memory meanwhile and after a rest of the same time", mixedLoad},
		{"startup", "startup: from exec to the ready line, and memory when idle", startUp},
	}
}

func sectionNames() string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

func isSection(name string) bool {
	for _, s := range sections {
		if s.name == name {
			return true
		}
	}
	return false
}

// counts bounds every measurement, in how often and how long.
type counts struct {
	rounds        int           // pairs that are counted; one more goes before
	limit         time.Duration // of one measurement
	groups        int           // groups of one append measurement
	groupEvents   int           // events of one append measurement
	requests      int           // single requests of one measurement with many clients; with one client a quarter
	arrays        int           // arrays of 100 of one measurement
	patches       int           // of one client
	subscriptions int           // that want nothing of what is sent
	events        int           // in the log that is rebuilt
	auditEvents   int           // in the log that is asked about its past
	devices       []int         // in the folders that are started
	starts        int
	idle          time.Duration // before memory is read
	rebuildRound  int
	pageRounds    int
	pages         int // requests of one measurement of a page
	readings      int
	bodies        []int // bytes
	bodyRounds    int
	posts         int // of bodies, in one measurement
	mixed         time.Duration
}

var (
	full = counts{
		rounds: 7, limit: 2 * time.Second, groups: 300, groupEvents: 20_000, requests: 8_000, arrays: 80, patches: 2_000, subscriptions: 10_000,
		events: 100_000, auditEvents: 1_000_000, devices: []int{0, 10_000, 100_000}, starts: 7, idle: 4 * time.Second, rebuildRound: 5,
		pageRounds: 5, pages: 500, readings: 1_000_000,
		bodies: []int{10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}, bodyRounds: 2, posts: 20_000, mixed: time.Minute,
	}
	quick = counts{
		rounds: 3, limit: 300 * time.Millisecond, groups: 50, groupEvents: 3_000, requests: 1_500, arrays: 15, patches: 200, subscriptions: 1_000,
		events: 10_000, auditEvents: 50_000, devices: []int{0, 10_000}, starts: 3, idle: time.Second, rebuildRound: 3,
		pageRounds: 2, pages: 200, readings: 50_000,
		bodies: []int{10_000, 100_000, 1_000_000, 10_000_000}, bodyRounds: 1, posts: 2_000, mixed: 6 * time.Second,
	}
)

// bench is one run.
type bench struct {
	ledge    string // the binary
	dir      string
	profiles string // where its processes leave their CPU profiles; empty for none
	counts   counts
	report   *report
}

// run runs the sections, or only some.
func (b *bench) run(ctx context.Context, only []string) error {
	for _, s := range sections {
		if only != nil && !slices.Contains(only, s.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", s.name)
		b.report.begin(s)
		if err := s.run(ctx, b); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// folder makes a folder of its own for something. What is in it goes with the run, or before, with done.
func (b *bench) folder(name string) (dir string, done func(), err error) {
	dir, err = os.MkdirTemp(b.dir, name+"-*")
	return dir, func() { os.RemoveAll(dir) }, err
}

// blockBytes is the size of all block files below a folder.
func blockBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".blk" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
