package main

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ledge/cmd/internal/services"
	"ledge/handlers"
	"ledge/handlers/transport"
)

// meters has what the program measures, in a registry for each service. Its port shows that: no series is shown by two
// ports. The metadata service has the process's series beside its own.
type meters struct {
	registries map[string]*prometheus.Registry // by service
	requests   map[string]*requestMeter        // by service
	appends    appendMeter
	deliveries deliveryMeter
}

// processService has the series of the process.
const processService = services.Metadata

func newMeters() *meters {
	m := &meters{registries: map[string]*prometheus.Registry{}, requests: map[string]*requestMeter{}, appends: newAppendMeter(), deliveries: newDeliveryMeter()}
	for _, one := range services.All {
		m.registries[one.Name] = prometheus.NewPedanticRegistry()
		m.requests[one.Name] = newRequestMeter(one.Name)
		m.registries[one.Name].MustRegister(m.requests[one.Name])
	}
	m.registries[processService].MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// register has the registries ask the running program.
func (m *meters) register(p *Program) {
	add := func(service string, list ...prometheus.Collector) { m.registries[service].MustRegister(list...) }
	for _, one := range services.All {
		stream, service := one.Stream, one.Name
		if stream == "" {
			continue
		}
		add(service, m.appends.of(stream)...)
		add(service, metricsOf(ofStreams, []string{"stream"}, func() []withLabels[streamUse] { return p.streamUse(stream) }),
			metricsOf(ofProjections, []string{"stream"}, func() []withLabels[projectionUse] { return p.projectionUse(stream) }))
	}
	for service := range m.registries {
		add(service, metricsOf(ofRefusals, []string{"service", "reason"}, func() []withLabels[int] { return p.refusals(service) }))
	}
	add(processService,
		metricsOf(ofBuild, []string{"version"}, func() []withLabels[int] { return []withLabels[int]{{1, []string{version}}} }),
		metricsOf(ofMemory, nil, ownMemory),
		metricsOf(ofStorage, nil, func() []withLabels[storage] { return unlabelled(p.changesUse()) }),
		metricsOf(ofConnections, nil, p.connectionCounts),
		metricsOf(ofTap, []string{"reason"}, func() []withLabels[int] { return byReason(p.node.Store.Tap().Refusals()) }),
		metricsOf(ofTapClients, nil, func() []withLabels[int] { return unlabelled(p.node.Store.Tap().Clients()) }),
		metricsOf(ofLogins, []string{"reason"}, func() []withLabels[int] { return byReason(p.authenticator.Load().Refusals()) }),
		metricsOf(ofCallbacks, []string{"result"}, p.callbackCounts),
		metricsOf(ofWaitingCallbacks, nil, p.waitingCallbacks))
	add(services.Data,
		metricsOf(ofPayloads, nil, func() []withLabels[payloadUse] { return unlabelled(p.payloadUse()) }),
		metricsOf(ofRules, []string{"rule"}, p.ruleUse))
	add(services.Notifications, m.deliveries.all()...)
	add(services.Notifications,
		metricsOf(ofEndpoints, []string{"kind"}, p.endpointUse),
		metricsOf(ofUnrecorded, nil, func() []withLabels[int64] { return unlabelled(p.unrecorded()) }),
		metricsOf(ofZeroMQ, nil, p.zeroMQUse),
		metricsOf(ofPeers, []string{"reason"}, func() []withLabels[int] { return byReason(p.sockets.Refusals()) }))
	if p.keeper != nil {
		add(processService,
			metricsOf(ofHandshakes, []string{"reason"}, p.failedHandshakes),
			metricsOf(ofCertificate, nil, func() []withLabels[time.Duration] {
				return unlabelled(p.keeper.Certificate().Leaf.NotAfter.Sub(p.Now()))
			}))
	}
}

// scrapes bounds the requests for metrics that are answered at a time, of each service.
const scrapes = 4

// withMetrics serves GET /metrics beside a service's own paths, in the text form of Prometheus, and profiles where they are
// allowed.
func (p *Program) withMetrics(o handlers.Options, service http.Handler) http.Handler {
	text := promhttp.HandlerFor(p.meters.registries[o.Service], promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapes, DisableCompression: true, ErrorLog: metricErrors{p.Logger}, ErrorHandling: promhttp.ContinueOnError,
	})
	shown, profiles := handlers.Protect(o, text), handlers.Pprof(o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch read := r.Method == http.MethodGet || r.Method == http.MethodHead; {
		case read && r.URL.Path == "/metrics":
			shown.ServeHTTP(w, r)
		case p.Config.Pprof && r.Method == http.MethodGet && o.Service == processService && strings.HasPrefix(r.URL.Path, handlers.PprofPath):
			profiles.ServeHTTP(w, r)
		default:
			service.ServeHTTP(w, r)
		}
	})
}

// measure is one metric of an R. One whose name ends in _total is a counter.
type measure[R any] struct {
	name, help string
	value      func(R) float64
}

// withLabels is a value with the values of its labels.
type withLabels[R any] struct {
	value  R
	labels []string
}

func unlabelled[R any](value R) []withLabels[R] { return []withLabels[R]{{value: value}} }

// measured asks for values when metrics are shown.
type measured[R any] struct {
	measures []measure[R]
	descs    []*prometheus.Desc
	list     func() []withLabels[R]
}

func metricsOf[R any](measures []measure[R], labels []string, list func() []withLabels[R]) prometheus.Collector {
	c := measured[R]{measures: measures, list: list}
	for _, m := range measures {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c measured[R]) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c measured[R]) Collect(out chan<- prometheus.Metric) {
	list := c.list()
	for i, m := range c.measures {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(m.name, "_total") {
			kind = prometheus.CounterValue
		}
		for _, one := range list {
			out <- prometheus.MustNewConstMetric(c.descs[i], kind, m.value(one.value), one.labels...)
		}
	}
}

// byReason orders counts by reason.
func byReason[K ~string, N int | uint64](counts map[K]N) (list []withLabels[int]) {
	for reason, n := range counts {
		list = append(list, withLabels[int]{int(n), []string{string(reason)}})
	}
	slices.SortFunc(list, func(a, b withLabels[int]) int { return strings.Compare(a.labels[0], b.labels[0]) })
	return list
}

// failedHandshakes are those of TLS, by reason.
func (p *Program) failedHandshakes() []withLabels[int] {
	counts := map[transport.Failure]uint64{}
	for _, cause := range transport.Causes {
		counts[cause] = p.transport.Failures.Count(cause)
	}
	return byReason(counts)
}
