// Command bench measures Ledge side by side with the least that could do the same work, within one run.
//
// Machines are noisy, so what counts is the ratio of two sides that were measured in turns, A B A B; the absolute figures
// stand beside it. The sections: append and writers (the log against a plain file), http (the real binary against a bare
// handler), secure (secure mode against open mode), latency (PATCH to a SUB socket),
// edgex (events of EdgeX services over NATS against a NATS server alone),
// delivery (PATCH to REST receivers that fail, are slow or dead), rebuild (folding a log against reading it), audit (the past of entities in a long log), lists (pages of long lists),
// readings (the same of readings, as many as -readings says), bodies (posting to device-rest against a handler that only
// writes and syncs), mixed (memory under a load of all kinds), startup (time and memory).
//
// All is on 127.0.0.1 and in a temporary folder, which should be on the disk that is meant: see -dir.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 3 && bareServers[os.Args[1]] != nil {
		fatal(bareServers[os.Args[1]](os.Args[2]))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := execute(ctx, os.Args[1:], os.Stdout); err != nil {
		stop()
		fatal(err)
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	ledge, dir, json, profile, pgo string
	only                           []string
	quick                          bool
	readings                       int
}

// perReading is how much longer a run may take for each reading that was asked for.
const perReading = 500 * time.Microsecond

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.ledge, "ledge", "bin/ledge", "the binary to measure")
	only := f.String("only", "", "the sections to run, with commas between them: "+sectionNames())
	f.StringVar(&o.dir, "dir", "", "where the temporary folder is made; the default is the system's own place")
	f.StringVar(&o.json, "json", "", "file to write the figures to, as JSON")
	f.StringVar(&o.profile, "cpuprofile", "", "file to write a CPU profile of this process to, for the sections that run in it")
	f.StringVar(&o.pgo, "pgo", "", "file to write a CPU profile of the measured binary to, of all its processes together, by which go build optimizes")
	f.BoolVar(&o.quick, "quick", false, "small counts, for a first look")
	f.IntVar(&o.readings, "readings", 0, "how many readings that section has, such as 10000000, which take 10 GB; the default is a million")
	err = f.Parse(args)
	if err != nil || *only == "" {
		return o, err
	}
	o.only = strings.Split(*only, ",")
	for _, name := range o.only {
		if !isSection(name) {
			return o, fmt.Errorf("-only %s: there is no section %q; use some of %s", *only, name, sectionNames())
		}
	}
	return o, nil
}

// execute runs the sections and prints their table, also what there is of it after an error.
func execute(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	counts, limit := full, 16*time.Minute
	if o.quick {
		counts, limit = quick, 2*time.Minute
	}
	if o.readings > 0 {
		limit += time.Duration(o.readings) * perReading
		counts.readings = o.readings
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run took longer than its limit of %v", limit))
	defer cancel()
	stopProfile, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	r := &report{Started: time.Now().UTC(), Quick: o.quick}
	err = measure(ctx, o, counts, r)
	r.print(out)
	if err == nil && o.json != "" {
		err = r.writeJSON(o.json)
	}
	return err
}

func measure(ctx context.Context, o options, c counts, r *report) (err error) {
	dir, err := os.MkdirTemp(o.dir, "ledge-bench-*")
	if err != nil {
		return fmt.Errorf("temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	b := &bench{ledge: o.ledge, dir: dir, counts: c, report: r}
	if o.pgo != "" {
		if b.profiles, err = os.MkdirTemp(dir, "profiles-*"); err != nil {
			return err
		}
	}
	if r.Machine, err = look(ctx, b); err != nil {
		return err
	}
	if err = b.run(ctx, o.only); err != nil || o.pgo == "" {
		return err
	}
	return mergeProfiles(b.profiles, o.pgo)
}

func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("CPU profile: %w", err)
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}
