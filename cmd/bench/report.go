package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything that a run found.
type report struct {
	Started time.Time `json:"started"`
	Quick   bool      `json:"quick"`
	Machine machine   `json:"machine"`
	Rows    []row     `json:"rows"`

	titles map[string]string
	now    string
}

// row is one line of the table.
type row struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Ledge   figure  `json:"ledge"`
	Bare    *figure `json:"bare,omitempty"`
	// Ratio is the median of the pairs' ratios. Spread is theirs, or, without a ratio, that of Ledge's values.
	Ratio  float64 `json:"ratio,omitempty"`
	Spread span    `json:"spread"`
	Target *target `json:"target,omitempty"`
}

// figure is the median of one side, in the row's unit, how long single calls took, in milliseconds, and the processor
// time of the server for one of what is counted, in microseconds: it depends least on what else the machine does.
type figure struct {
	Value float64 `json:"value"`
	P50   float64 `json:"p50,omitempty"`
	P99   float64 `json:"p99,omitempty"`
	CPU   float64 `json:"cpu,omitempty"`
}

// target is what a row should reach.
type target struct {
	Want string `json:"want"`
	Pass bool   `json:"pass"`
}

func atLeast(want, got float64) *target { return &target{fmt.Sprintf("≥ %.2f", want), got >= want} }

func below(want float64, unit string, got float64) *target {
	return &target{fmt.Sprintf("< %g %s", want, unit), got < want}
}

func (r *report) begin(s section) {
	if r.titles == nil {
		r.titles = map[string]string{}
	}
	r.now, r.titles[s.name] = s.name, s.title
}

// add adds a row to the section at hand; it can be completed until the next is added.
func (r *report) add(one row) *row {
	one.Section = r.now
	r.Rows = append(r.Rows, one)
	return &r.Rows[len(r.Rows)-1]
}

func (r results) figure() figure {
	times := milliseconds(r.times)
	return figure{r.rates.median(), times.quantile(0.5), times.quantile(0.99), r.cpu.median()}
}

// against makes the row of two sides, in things a second.
func (r results) against(bare results, name string) row {
	other := bare.figure()
	ratios := r.rates.over(bare.rates)
	return row{Name: name, Unit: "/s", Ledge: r.figure(), Bare: &other, Ratio: ratios.median(), Spread: ratios.span()}
}

// alone makes the row of a side that has no other.
func (r results) alone(name string) row {
	return row{Name: name, Unit: "/s", Ledge: r.figure(), Spread: r.rates.span()}
}

// print writes a table for each section, and the known figures of EdgeX at the end.
func (r *report) print(w io.Writer) {
	r.Machine.print(w)
	for i, one := range r.Rows {
		if i == 0 || r.Rows[i-1].Section != one.Section {
			fmt.Fprintf(w, "\n%s\n", r.titles[one.Section])
			r.table(w, one.Section)
		}
	}
	fmt.Fprint(w, edgex)
	for _, one := range r.Rows {
		if one.Target != nil && !one.Target.Pass {
			fmt.Fprintf(w, "missed: %s, %s: %s\n", one.Section, one.Name, one.Target.Want)
		}
	}
}

func (r *report) table(w io.Writer, section string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tledge\tp50 ms\tp99 ms\tcpu µs\tbare\tp50 ms\tp99 ms\tcpu µs\tratio\tspread\ttarget\t")
	for _, one := range r.Rows {
		if one.Section == section {
			fmt.Fprintln(t, strings.Join(one.cells(), "\t")+"\t")
		}
	}
	_ = t.Flush()
}

func (one row) cells() []string {
	cells := append([]string{one.Name}, one.Ledge.cells(one.Unit)...)
	bare, ratio, want := make([]string, 4), "", ""
	if one.Bare != nil {
		bare, ratio = one.Bare.cells(one.Unit), fmt.Sprintf("%.2f", one.Ratio)
	}
	if one.Target != nil {
		want = one.Target.Want + map[bool]string{true: " pass", false: " MISS"}[one.Target.Pass]
	}
	return append(append(cells, bare...), ratio, number(one.Spread.Low)+"–"+number(one.Spread.High), want)
}

func (f figure) cells(unit string) []string {
	cells := []string{number(f.Value) + " " + unit, "", "", ""}
	if f.P50 > 0 {
		cells[1], cells[2] = fmt.Sprintf("%.2f", f.P50), fmt.Sprintf("%.2f", f.P99)
	}
	if f.CPU > 0 {
		cells[3] = number(f.CPU)
	}
	return cells
}

// number writes 3 digits of a small value, and all before the point of a great one.
func number(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return whole(v)
}

// whole rounds, and separates the thousands.
func whole(v float64) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (r *report) writeJSON(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
