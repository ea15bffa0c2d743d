package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledge/cmd/internal/services"
	"ledge/handlers"
)

// requestMeter counts and times the requests to one service. There are as many series as routes, methods and statuses that
// were met; paths are not labels.
type requestMeter struct {
	*prometheus.CounterVec
	took  *prometheus.HistogramVec
	known sync.Map // of seen to *series, so that a request does not hash its labels
}

type seen struct {
	method, route string
	status        int
}

type series struct {
	count prometheus.Counter
	took  prometheus.Observer
}

func newRequestMeter(service string) *requestMeter {
	of := prometheus.Labels{"service": service}
	return &requestMeter{
		CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ledge_http_requests_total", Help: "Requests that were answered since the start, by route pattern and status.", ConstLabels: of,
		}, []string{"method", "route", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ledge_http_request_duration_seconds", Help: "Time from the routing of a request to the end of its answer.", ConstLabels: of,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "route"}),
	}
}

// Describe implements prometheus.Collector.
func (m *requestMeter) Describe(out chan<- *prometheus.Desc) {
	m.CounterVec.Describe(out)
	m.took.Describe(out)
}

// Collect implements prometheus.Collector.
func (m *requestMeter) Collect(out chan<- prometheus.Metric) {
	m.CounterVec.Collect(out)
	m.took.Collect(out)
}

// observe implements handlers.Options.Observe.
func (m *requestMeter) observe(s handlers.Served) {
	key := seen{s.Method, s.Route, s.Status}
	known, ok := m.known.Load(key)
	if !ok {
		known, _ = m.known.LoadOrStore(key, &series{
			m.WithLabelValues(s.Method, s.Route, strconv.Itoa(s.Status)), m.took.WithLabelValues(s.Method, s.Route),
		})
	}
	one := known.(*series)
	one.count.Inc()
	one.took.Observe(s.Took.Seconds())
}

// appendMeter is the store's Observer.
type appendMeter struct {
	events, bytes, took, fsync map[string]prometheus.Histogram
}

func newAppendMeter() appendMeter {
	m := appendMeter{map[string]prometheus.Histogram{}, map[string]prometheus.Histogram{}, map[string]prometheus.Histogram{}, map[string]prometheus.Histogram{}}
	times := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
	for _, one := range services.All {
		stream := one.Stream
		if stream == "" {
			continue
		}
		of := func(name, help string, buckets []float64) prometheus.Histogram {
			return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets, ConstLabels: prometheus.Labels{"stream": stream}})
		}
		m.events[stream] = of("ledge_append_group_events", "Events that were recorded together; the sum is all events since the start.", []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000})
		m.bytes[stream] = of("ledge_append_group_bytes", "Bytes that were recorded together.", prometheus.ExponentialBuckets(512, 4, 8))
		m.took[stream] = of("ledge_append_duration_seconds", "Time to decide, record and fold a group.", times)
		m.fsync[stream] = of("ledge_append_fsync_duration_seconds", "Time of the fsync of a group.", times)
	}
	return m
}

func (m appendMeter) of(stream string) []prometheus.Collector {
	return []prometheus.Collector{m.events[stream], m.bytes[stream], m.took[stream], m.fsync[stream]}
}

// Appended implements store.Observer.
func (m appendMeter) Appended(stream string, events, bytes int, took time.Duration) {
	m.events[stream].Observe(float64(events))
	m.bytes[stream].Observe(float64(bytes))
	m.took[stream].Observe(took.Seconds())
}

// Synced implements store.Observer.
func (m appendMeter) Synced(stream string, took time.Duration) {
	m.fsync[stream].Observe(took.Seconds())
}
