package faults

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"ledge/cmd/ledgetest"
)

// faultsAll reports whether the fault tests run in full, as `make faults` asks for; else each runs a small seeded part.
func faultsAll() bool { return os.Getenv("TEST_LEDGE_FAULTS") == "all" }

// faultsTime is how long a row may take in full. A row that has not tried everything by then says how much it tried.
func faultsTime(tb testing.TB) time.Duration {
	d, err := time.ParseDuration(cmp.Or(os.Getenv("TEST_LEDGE_FAULTS_TIME"), "5m"))
	if err != nil {
		tb.Fatalf("TEST_LEDGE_FAULTS_TIME: %v; give a duration such as 5m", err)
	}
	return d
}

// verdict is what came of a fault.
type verdict int

const (
	recovered verdict = iota // everything acknowledged is there
	found                    // Ledge named the damage, and refused or answered with an error
	lost                     // something acknowledged is missing, or a change is there by half
	silent                   // Ledge answers something else than before, as if nothing had happened
	broken                   // verify and serve contradict each other, or something hung or ended without a word
)

// outcome is the verdict on one fault, with the reason for all but recovered.
type outcome struct {
	verdict verdict
	why     string
	touched string // what `ledge verify` changed in the folder; it may change nothing
}

func outcomef(v verdict, format string, args ...any) outcome {
	return outcome{verdict: v, why: fmt.Sprintf(format, args...)}
}

// unless is recovered where fine.
func (o outcome) unless(fine bool) outcome {
	if fine {
		return outcome{}
	}
	return o
}

// faultRow is a row of the table of faults.
type faultRow struct {
	name  string
	crash bool // Ledge must recover from a crash; naming it is not enough

	prefer func(position int) bool // what is tried first, such as where an error is likely; nil is allowed

	mu      sync.Mutex
	of      int // positions at which it can be tried
	counts  [broken + 1]int
	touched int
	wrote   string // the first of touched
	why     []string
}

// mostReasons bounds what a row prints of its failures.
const mostReasons = 12

// faultTable has a row for each scenario that ran, for the summary at the end.
var faultTable struct {
	sync.Mutex
	rows []*faultRow
}

// try judges a fault at each of n positions, or, unless in full, at few of them that the seed picks.
func (r *faultRow) try(t *testing.T, n, few int, one func(t *testing.T, position int) outcome) {
	t.Helper()
	order := rand.New(rand.NewPCG(*ledgetest.Seed, uint64(n))).Perm(n)
	if r.prefer != nil {
		slices.SortStableFunc(order, func(a, b int) int { return rank(r.prefer(a)) - rank(r.prefer(b)) })
	}
	if !faultsAll() {
		order = order[:min(few, n)]
	}
	until := time.Now().Add(faultsTime(t))
	for _, position := range order {
		if faultsAll() && time.Now().After(until) {
			break
		}
		// A test of its own ends the programs and gives back the folders and recordings of one fault before the next.
		t.Run(strconv.Itoa(position), func(t *testing.T) { r.count(position, one(t, position)) })
	}
	r.report(t, n)
}

func rank(preferred bool) int {
	if preferred {
		return 0
	}
	return 1
}

func (r *faultRow) runs() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.counts {
		n += c
	}
	return n
}

func (r *faultRow) count(position int, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[o.verdict]++
	if o.touched != "" {
		if r.touched++; r.touched == 1 {
			r.wrote = fmt.Sprintf("at %d: ledge verify changed the folder: %s", position, o.touched)
		}
	}
	if (o.verdict > found || o.verdict == found && r.crash) && len(r.why) < mostReasons {
		r.why = append(r.why, fmt.Sprintf("at %d: %s", position, o.why))
	}
}

func (r *faultRow) report(t *testing.T, of int) {
	t.Helper()
	r.of += of
	faultTable.Lock()
	if !slices.Contains(faultTable.rows, r) {
		faultTable.rows = append(faultTable.rows, r)
	}
	faultTable.Unlock()
	for _, why := range r.why {
		t.Errorf("%s: %s", r.name, why)
	}
	if r.wrote != "" {
		t.Errorf("%s: %s", r.name, r.wrote)
	}
}

func init() { ledgetest.AtEnd = append(ledgetest.AtEnd, reportFaults) }

// reportFaults prints the table, and writes it to the file that `make faults` names.
func reportFaults() {
	faultTable.Lock()
	defer faultTable.Unlock()
	if len(faultTable.rows) == 0 {
		return
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.DiscardEmptyColumns)
	fmt.Fprintln(w, "scenario\truns\tof\tlost\tsilent\tbroken\ttouched\tfound\trecovered\t")
	for _, r := range faultTable.rows {
		c := r.counts
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", r.name, r.runs(), r.of, c[lost], c[silent], c[broken], r.touched, c[found], c[recovered])
	}
	w.Flush()
	if path := os.Getenv("TEST_LEDGE_FAULTS_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if faultsAll() || testing.Verbose() {
		_, _ = io.WriteString(os.Stdout, text.String())
	}
}

// snapshot is a folder as it is: by path the size, the time of the last change and the content of each file.
type snapshot map[string]string

func takeSnapshot(dir string) (snapshot, error) {
	s := snapshot{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			s[rel] = ""
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		s[rel] = fmt.Sprintln(info.ModTime().UnixNano(), len(b)) + string(b)
		return err
	})
	return s, err
}

// changed names a file that differs, "" where none does.
func (s snapshot) changed(now snapshot) string {
	for path := range now {
		if _, there := s[path]; !there {
			return path + " is new"
		}
	}
	for path, was := range s {
		switch is, there := now[path]; {
		case !there:
			return path + " is gone"
		case is != was:
			return path + " is not as it was"
		}
	}
	return ""
}
