package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// withMetrics serves, beside a service's own paths, what the program counts in the text form of Prometheus: what it stores,
// and the usual of Go and of the process.
func (p *Program) withMetrics(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			service.ServeHTTP(w, r)
			return
		}
		var text bytes.Buffer
		p.storage().write(&text)
		metrics.WriteProcessMetrics(&text)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text.Bytes()) // fails when the client is gone: nobody is left to be told
	})
}

// measure is one metric of an R. One whose name ends in _total is a counter.
type measure[R any] struct {
	name, help string
	value      func(R) float64
}

var (
	ofStorage = []measure[storage]{
		{"ledge_disk_free_bytes", "Free disk space of the log.", func(s storage) float64 { return float64(s.FreeBytes) }},
		{"ledge_payloads", "Values that are kept as files beside the log.", func(s storage) float64 { return float64(s.Payloads.Count) }},
		{"ledge_payload_bytes", "Size of these files.", func(s storage) float64 { return float64(s.Payloads.Bytes) }},
	}
	ofStreams = []measure[streamUse]{
		{"ledge_stream_bytes", "Size of the files of a stream.", func(s streamUse) float64 { return float64(s.Bytes) }},
		{"ledge_stream_first_sequence", "Sequence of the first event that is kept.", func(s streamUse) float64 { return float64(s.First) }},
		{"ledge_stream_last_sequence", "Sequence of the last event.", func(s streamUse) float64 { return float64(s.Last) }},
		{"ledge_stream_reserve_bytes", "Free disk space below which requests are refused.", func(s streamUse) float64 { return float64(s.Reserve) }},
		{"ledge_stream_refused_total", "Requests refused because the disk is full.", func(s streamUse) float64 { return float64(s.Refused) }},
	}
	ofRules = []measure[ruleUse]{
		{"ledge_retention_kept_events", "Data events that fall under a rule.", func(r ruleUse) float64 { return float64(r.Kept) }},
		{"ledge_retention_kept_bytes", "Size of their values.", func(r ruleUse) float64 { return float64(r.KeptBytes) }},
		{"ledge_retention_removed_events_total", "Data events that a rule has removed.", func(r ruleUse) float64 { return float64(r.Removed) }},
		{"ledge_retention_removed_bytes_total", "Size of their values.", func(r ruleUse) float64 { return float64(r.RemovedBytes) }},
	}
)

func (s storage) write(w io.Writer) {
	fmt.Fprintf(w, "# HELP ledge_build_info The version of the program.\n# TYPE ledge_build_info gauge\nledge_build_info{version=%q} 1\n", version)
	write(w, ofStorage, []storage{s}, func(storage) string { return "" })
	write(w, ofStreams, s.Streams, func(s streamUse) string { return fmt.Sprintf("{stream=%q}", s.Name) })
	write(w, ofRules, s.Retention, func(r ruleUse) string { return fmt.Sprintf("{rule=%q}", r.Rule) })
}

// write writes each measure of all of a list, which labels tell apart.
func write[R any](w io.Writer, measures []measure[R], list []R, labels func(R) string) {
	for _, m := range measures {
		kind := "gauge"
		if strings.HasSuffix(m.name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, kind)
		for _, one := range list {
			fmt.Fprintf(w, "%s%s %g\n", m.name, labels(one), m.value(one))
		}
	}
}
