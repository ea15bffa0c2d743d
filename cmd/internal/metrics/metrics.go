// Package metrics has what Prometheus reads of a server: each number once, in the registry of the service whose port shows it. What the
// numbers are of is in [Options].
package metrics

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ledge/bridge/edgex"
	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/retention"
	"ledge/cmd/internal/services"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/connections"
	"ledge/handlers/identity"
	"ledge/handlers/transport"
	"ledge/store"
	"ledge/store/bus"
	"ledge/store/payloads"
)

// Options are the sources of the metrics.
type Options struct {
	Node          *node.Node
	Bus           *bus.Bus        // nil without a bus
	Readings      *edgex.Readings // of the bus; nil without a bus
	Events        *edgex.Events   // as Readings
	Payloads      *payloads.Files
	Remover       *retention.Remover
	Channels      *channels.Channels
	Access        *access.Access
	Authenticator *identity.Authenticator
	Limiter       *connections.Limiter
	Keeper        certs.Keeper        // of the certificate; nil without TLS
	Handshakes    *transport.Failures // nil without TLS
	Version       string              // of ledge
	Now           func() time.Time
	Logger        *slog.Logger
}

// Open returns meters that ask their sources when metrics are shown.
func Open(o Options) *Meters {
	m := newMeters(o)
	m.register()
	return m
}

// Meters has the program's measurements, in a registry for each service. Its port shows that: no series is shown by two
// ports. The metadata service has the process's series beside its own.
type Meters struct {
	Options
	registries map[string]*prometheus.Registry // by service
	requests   map[string]*requestMeter        // by service
	appends    appendMeter
	deliveries deliveryMeter
}

// processService has the series of the process.
const processService = services.Metadata

// newMeters returns meters without sources but requests, appends and deliveries.
func newMeters(o Options) *Meters {
	m := &Meters{Options: o, registries: map[string]*prometheus.Registry{}, requests: map[string]*requestMeter{}, appends: newAppendMeter(), deliveries: newDeliveryMeter()}
	for _, one := range services.All {
		m.registries[one.Name] = prometheus.NewPedanticRegistry()
		m.requests[one.Name] = newRequestMeter(one.Name)
		m.registries[one.Name].MustRegister(m.requests[one.Name])
	}
	m.registries[processService].MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// register has the registries ask the sources.
func (m *Meters) register() {
	add := func(service string, list ...prometheus.Collector) { m.registries[service].MustRegister(list...) }
	for _, one := range services.All {
		stream, service := one.Stream, one.Name
		if stream == "" {
			continue
		}
		add(service, m.appends.of(stream)...)
		add(service, metricsOf(ofStreams, []string{"stream"}, func() []withLabels[streamUse] { return m.streamUses(stream) }),
			metricsOf(ofProjections, []string{"stream"}, func() []withLabels[projectionUse] { return m.projectionUse(stream) }))
	}
	for service := range m.registries {
		add(service, metricsOf(ofRefusals, []string{"service", "reason"}, func() []withLabels[int] { return m.refusals(service) }))
	}
	add(processService,
		metricsOf(ofBuild, []string{"version"}, func() []withLabels[int] { return []withLabels[int]{{1, []string{m.Version}}} }),
		metricsOf(ofMemory, nil, ownMemory),
		metricsOf(ofStorage, nil, func() []withLabels[Storage] { return unlabelled(m.ChangesUse()) }),
		metricsOf(ofConnections, nil, m.connectionCounts),
		metricsOf(ofNATS, []string{"reason"}, func() []withLabels[int] { return byReason(m.Bus.Refusals()) }),
		metricsOf(ofNATSClients, nil, func() []withLabels[int] { return unlabelled(m.Bus.Clients()) }),
		metricsOf(ofBusLag, []string{"stream"}, func() []withLabels[bus.Stats] { return m.busLag() }),
		metricsOf(ofLogins, []string{"reason"}, func() []withLabels[int] { return byReason(m.Authenticator.Refusals()) }),
		metricsOf(ofCallbacks, []string{"result"}, m.callbackCounts),
		metricsOf(ofWaitingCallbacks, nil, m.waitingCallbacks))
	add(services.Data,
		metricsOf(ofPayloads, nil, func() []withLabels[payloadUse] { return unlabelled(m.payloadUse()) }),
		metricsOf(ofRules, []string{"rule"}, m.ruleUse))
	if m.Readings != nil {
		add(services.Data,
			metricsOf(ofEdgeXEvents, []string{"result"}, m.edgexEvents),
			metricsOf(ofEdgeXRefused, []string{"reason"}, func() []withLabels[int] { return byReason(m.Readings.Refusals()) }),
			metricsOf(ofEdgeXPublished, []string{"result"}, func() []withLabels[uint64] { return listPublished(m.Events) }),
			metricsOf(ofEdgeXWaiting, nil, func() []withLabels[uint64] { return unlabelled(m.Bus.EdgeX().Waiting()) }))
	}
	add(services.Notifications, m.deliveries.all()...)
	add(services.Notifications,
		metricsOf(ofEndpoints, []string{"kind"}, m.endpointUse),
		metricsOf(ofDelivery, nil, func() []withLabels[int] { return unlabelled(deliveryOff(m)) }),
		metricsOf(ofUnrecorded, nil, func() []withLabels[int64] { return unlabelled(m.unrecorded()) }),
		metricsOf(ofZeroMQ, nil, m.zeroMQUse),
		metricsOf(ofPeers, []string{"reason"}, func() []withLabels[int] { return byReason(m.Channels.Sockets.Refusals()) }))
	if m.Keeper != nil {
		add(processService,
			metricsOf(ofHandshakes, []string{"reason"}, m.failedHandshakes),
			metricsOf(ofCertificate, nil, func() []withLabels[time.Duration] {
				return unlabelled(m.Keeper.Certificate().Leaf.NotAfter.Sub(m.Now()))
			}))
	}
}

// scrapes bounds the requests for metrics that are answered at a time, of each service.
const scrapes = 4

// Serve serves GET /metrics beside a service's own paths, in the text form of Prometheus.
func (m *Meters) Serve(o handlers.Options, service http.Handler) http.Handler {
	text := promhttp.HandlerFor(m.registries[o.Service], promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapes, DisableCompression: true, ErrorLog: metricErrors{m.Logger}, ErrorHandling: promhttp.ContinueOnError,
	})
	shown := handlers.Protect(o, handlers.Metrics, text)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if read := r.Method == http.MethodGet || r.Method == http.MethodHead; read && r.URL.Path == handlers.Metrics.Path {
			shown.ServeHTTP(w, r)
			return
		}
		service.ServeHTTP(w, r)
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

func (m *Meters) busLag() (list []withLabels[bus.Stats]) {
	for _, s := range m.Bus.Stats() {
		list = append(list, withLabels[bus.Stats]{s, []string{s.Stream}})
	}
	return list
}

func unlabelled[R any](value R) []withLabels[R] { return []withLabels[R]{{value: value}} }

// sourced asks for values when metrics are shown.
type sourced[R any] struct {
	measures []measure[R]
	descs    []*prometheus.Desc
	list     func() []withLabels[R]
}

func metricsOf[R any](measures []measure[R], labels []string, list func() []withLabels[R]) prometheus.Collector {
	c := sourced[R]{measures: measures, list: list}
	for _, m := range measures {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c sourced[R]) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c sourced[R]) Collect(out chan<- prometheus.Metric) {
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

// failedHandshakes counts failed TLS handshakes, by reason.
func (m *Meters) failedHandshakes() []withLabels[int] {
	counts := map[transport.Failure]uint64{}
	for _, cause := range transport.Causes {
		counts[cause] = m.Handshakes.Count(cause)
	}
	return byReason(counts)
}

// ObserveRequests returns the function to call for each request to a service.
func (m *Meters) ObserveRequests(service string) func(handlers.Served) {
	return m.requests[service].observe
}

// ObserveAppends returns the function to call for each recorded group.
func (m *Meters) ObserveAppends() store.Observer { return m.appends }
