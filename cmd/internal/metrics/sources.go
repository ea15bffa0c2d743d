package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ledge/bridge/edgex"
	"ledge/bridge/zeromq"
	"ledge/cmd/internal/retention"
	"ledge/handlers/access"
	"ledge/handlers/connections"
	"ledge/store"
)

// warnMetric logs what cannot be measured; it is shown as 0.
func (m *Meters) warnMetric(what string, err error) {
	if err != nil {
		m.Logger.Warn("metrics incomplete", "what", what, "error", err)
	}
}

// metricErrors takes what goes wrong while metrics are shown.
type metricErrors struct {
	to interface{ Warn(string, ...any) }
}

// Println implements promhttp.Logger.
func (m metricErrors) Println(v ...any) { m.to.Warn("metrics incomplete", "error", fmt.Sprint(v...)) }

func (m *Meters) streamUses(stream string) (list []withLabels[streamUse]) {
	for _, proj := range m.Node.Parts() {
		if proj.Log.Name() == stream {
			list = append(list, withLabels[streamUse]{m.useOf(proj), []string{stream}})
		}
	}
	return list
}

// projectionUse is how far the state of a stream is behind.
type projectionUse struct {
	lag     uint64
	waiting int
}

func (m *Meters) projectionUse(stream string) []withLabels[projectionUse] {
	appenders := map[string]*store.Appender{store.EventsStream: m.Node.Changes.Appender, store.NotificationsStream: m.Node.Notifications.Appender, store.ReadingsStream: m.Node.Readings.Appender}
	u := projectionUse{waiting: appenders[stream].Queued()}
	for _, proj := range m.Node.Parts() {
		if proj.Log.Name() == stream {
			shown, _ := proj.State.Checkpoint() // before the end of the log, which only grows
			last, _ := proj.Log.Last()
			u.lag = last - min(shown, last)
		}
	}
	return []withLabels[projectionUse]{{u, []string{stream}}}
}

// deliveryOff returns 1 if nothing is sent.
func deliveryOff(m *Meters) int {
	if m.Channels.Closed != "" {
		return 1
	}
	return 0
}

func (m *Meters) unrecorded() int64 {
	return m.Channels.Engine.Refused() + m.Channels.Delivery.Refused()
}

func (m *Meters) ruleUse() (list []withLabels[retention.RuleUse]) {
	for _, r := range m.Remover.RuleUses() {
		list = append(list, withLabels[retention.RuleUse]{r, []string{r.Rule}})
	}
	return list
}

// refusals are the requests to a service that were refused, by reason.
func (m *Meters) refusals(service string) (list []withLabels[int]) {
	for _, reason := range access.Reasons {
		n := 0
		if m.Access != nil && m.Access.Refusals != nil {
			n = m.Access.Refusals.Count(service, reason)
		}
		list = append(list, withLabels[int]{n, []string{service, string(reason)}})
	}
	return list
}

func (m *Meters) connectionCounts() []withLabels[connections.Counts] {
	return unlabelled(m.Limiter.Counts())
}

func (m *Meters) zeroMQUse() []withLabels[zeromq.Use] { return unlabelled(m.Channels.Sockets.Use()) }

func (m *Meters) callbackCounts() []withLabels[uint64] {
	n := m.Channels.Callbacks.Counts()
	return []withLabels[uint64]{
		{n.Accepted, []string{"accepted"}}, {n.Refused, []string{"refused"}}, {n.Failed, []string{"failed"}},
		{n.GivenUp, []string{"given_up"}}, {n.Dropped, []string{"dropped"}},
	}
}

func listPublished(e *edgex.Events) []withLabels[uint64] {
	published, not := e.Published()
	list := []withLabels[uint64]{{published, []string{"published"}}}
	for _, reason := range slices.Sorted(maps.Keys(not)) {
		list = append(list, withLabels[uint64]{not[reason], []string{reason}})
	}
	return list
}

func (m *Meters) edgexEvents() []withLabels[uint64] {
	taken, repeated := m.Readings.Taken()
	return []withLabels[uint64]{{taken, []string{"recorded"}}, {repeated, []string{"repeated"}}}
}

type waitingCallbacks struct{ callbacks, services int }

func (m *Meters) waitingCallbacks() []withLabels[waitingCallbacks] {
	callbacks, services := m.Channels.Callbacks.Queued()
	return unlabelled(waitingCallbacks{callbacks, services})
}

// endpointUse sums the endpoints of one kind of channel.
type endpointUse struct{ endpoints, failing, waiting, underWay int }

func (m *Meters) endpointUse() (list []withLabels[endpointUse]) {
	sums := map[string]endpointUse{}
	for _, e := range m.Channels.Delivery.Endpoints() {
		kind, _, _ := strings.Cut(e.Endpoint, "/")
		u := sums[kind]
		u.endpoints++
		u.waiting += e.Waiting
		u.underWay += e.UnderWay
		if e.Failures > 0 {
			u.failing++
		}
		sums[kind] = u
	}
	for _, kind := range kinds {
		list = append(list, withLabels[endpointUse]{sums[kind], []string{kind}})
	}
	return list
}
