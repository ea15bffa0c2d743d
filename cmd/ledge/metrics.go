package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/VictoriaMetrics/metrics"

	"ledge/bridge/zeromq"
	"ledge/handlers"
	"ledge/handlers/connections"
)

// withMetrics serves, beside a service's own paths, what the program counts in the text form of Prometheus: what it stores,
// and the usual of Go and of the process.
func (p *Program) withMetrics(o handlers.Options, service http.Handler) http.Handler {
	shown := handlers.Protect(o, http.HandlerFunc(p.showMetrics))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			service.ServeHTTP(w, r)
			return
		}
		shown.ServeHTTP(w, r)
	})
}

func (p *Program) showMetrics(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	p.storage().write(&text)
	write(&text, ofZeroMQ, []zeromq.Use{p.sockets.Use()}, func(zeromq.Use) string { return "" })
	write(&text, ofConnections, []connections.Counts{p.servers.limiter.Counts()}, func(connections.Counts) string { return "" })
	write(&text, ofRefusals, p.refusals(), func(r refusals) string { return fmt.Sprintf("{service=%q,reason=%q}", r.service, r.reason) })
	write(&text, ofTap, refusalsIn(p.data.store.TapRefusals()), func(r refusedFor) string { return fmt.Sprintf("{reason=%q}", r.reason) })
	write(&text, ofLogins, refusalsIn(p.authenticator.Load().Refusals()), func(r refusedFor) string { return fmt.Sprintf("{reason=%q}", r.reason) })
	metrics.WriteProcessMetrics(&text)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // fails when the client is gone: nobody is left to be told
}

// refusals are the requests to a service that were refused for one reason.
type refusals struct {
	service string
	reason  handlers.Reason
	count   int
}

func (p *Program) refusals() (all []refusals) {
	for _, service := range []string{metadataService, dataService, deviceRESTService, notificationsService} {
		for _, reason := range handlers.Reasons {
			r := refusals{service: service, reason: reason}
			if p.access != nil && p.access.Refusals != nil {
				r.count = p.access.Refusals.Count(service, reason)
			}
			all = append(all, r)
		}
	}
	return all
}

// measure is one metric of an R. One whose name ends in _total is a counter.
type measure[R any] struct {
	name, help string
	value      func(R) float64
}

var (
	ofStorage = []measure[storage]{
		{"ledge_disk_free_bytes", "Free disk space of the log.", func(s storage) float64 { return float64(s.FreeBytes) }},
		{"ledge_archives", "Archives of the log of changes.", func(s storage) float64 { return float64(s.Archive.Archives) }},
		{"ledge_archived_bytes", "Size of these archives.", func(s storage) float64 { return float64(s.Archive.ArchivedBytes) }},
		{"ledge_disk_days_left", "Days that the disk lasts at the growth of the log of changes in the last hours; +Inf where that is not known.", func(s storage) float64 { return s.Archive.days() }},
		{"ledge_payloads", "Values that are kept as files beside the log.", func(s storage) float64 { return float64(s.Payloads.Count) }},
		{"ledge_payload_bytes", "Size of these files.", func(s storage) float64 { return float64(s.Payloads.Bytes) }},
		{"ledge_notifications_unrecorded_total", "Notifications, deliveries to a subscription and outcomes of tries since the start that the log refused for good; the log file names each.", func(s storage) float64 { return float64(s.Unrecorded) }},
		{"ledge_payload_damaged_reads_total", "Reads since the start that found one of these files damaged.", func(s storage) float64 { return float64(s.Payloads.Damaged) }},
	}
	ofStreams = []measure[streamUse]{
		{"ledge_stream_bytes", "Size of the files of a stream.", func(s streamUse) float64 { return float64(s.Bytes) }},
		{"ledge_stream_first_sequence", "Sequence of the first event that is kept.", func(s streamUse) float64 { return float64(s.First) }},
		{"ledge_stream_last_sequence", "Sequence of the last event.", func(s streamUse) float64 { return float64(s.Last) }},
		{"ledge_stream_reserve_bytes", "Free disk space below which requests are refused.", func(s streamUse) float64 { return float64(s.Reserve) }},
		{"ledge_stream_refused_total", "Requests refused because the disk is full.", func(s streamUse) float64 { return float64(s.Refused) }},
		{"ledge_stream_skipped_events", "Events that could not be decoded and were skipped.", func(s streamUse) float64 { return float64(s.Skipped) }},
	}
	ofZeroMQ = []measure[zeromq.Use]{
		{"ledge_zeromq_sockets", "ZeroMQ sockets that are bound.", func(u zeromq.Use) float64 { return float64(u.Sockets) }},
		{"ledge_zeromq_peers", "Connections to all ZeroMQ sockets.", func(u zeromq.Use) float64 { return float64(u.Peers) }},
		{"ledge_zeromq_silent_peers", "Connections without a subscription.", func(u zeromq.Use) float64 { return float64(u.Silent) }},
		{"ledge_zeromq_topics", "Topics of all ZeroMQ subscribers.", func(u zeromq.Use) float64 { return float64(u.Topics) }},
		{"ledge_zeromq_topic_bytes", "Size of these topics, as their limit counts it.", func(u zeromq.Use) float64 { return float64(u.TopicBytes) }},
		{"ledge_zeromq_queued_bytes", "Memory of the messages that wait for ZeroMQ subscribers.", func(u zeromq.Use) float64 { return float64(u.QueuedBytes) }},
		{"ledge_zeromq_dropped_messages_total", "Messages that were not sent, counted once for each subscriber.", func(u zeromq.Use) float64 { return float64(u.Drops) }},
		{"ledge_zeromq_evicted_peers_total", "Connections that were closed to make room for others.", func(u zeromq.Use) float64 { return float64(u.Evicted) }},
		{"ledge_zeromq_refused_peers_total", "Connections that were refused at a limit.", func(u zeromq.Use) float64 { return float64(u.Refused) }},
	}
	ofConnections = []measure[connections.Counts]{
		{"ledge_http_connections", "Connections to the HTTP services.", func(c connections.Counts) float64 { return float64(c.Open) }},
		{"ledge_http_connections_closed_total", "Idle connections that were closed at a limit since the start.", func(c connections.Counts) float64 { return float64(c.Closed) }},
		{"ledge_http_connections_refused_total", "Connections that were refused at a limit since the start.", func(c connections.Counts) float64 { return float64(c.Refused) }},
	}
	ofTap = []measure[refusedFor]{
		{"ledge_tap_refused_total", "Connections of NATS clients that were refused or ended since the start, by reason.", func(r refusedFor) float64 { return float64(r.count) }},
	}
	ofLogins = []measure[refusedFor]{
		{"ledge_identity_refused_total", "Logins, tokens and certificates that were refused since the start, by reason.", func(r refusedFor) float64 { return float64(r.count) }},
	}
	ofRefusals = []measure[refusals]{
		{"ledge_http_refusals_total", "Requests since the start that were refused for want of a login or a right.", func(r refusals) float64 { return float64(r.count) }},
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
