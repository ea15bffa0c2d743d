package main

import (
	"fmt"
	"strings"

	"ledge/bridge/zeromq"
	"ledge/cmd/internal/retention"
	"ledge/handlers"
	"ledge/handlers/connections"
	"ledge/store"
)

// warnMetric logs what cannot be measured; it is shown as 0.
func (p *Program) warnMetric(what string, err error) {
	if err != nil {
		p.Logger.Warn("metrics incomplete", "what", what, "error", err)
	}
}

// metricErrors takes what goes wrong while metrics are shown.
type metricErrors struct {
	to interface{ Warn(string, ...any) }
}

// Println implements promhttp.Logger.
func (m metricErrors) Println(v ...any) { m.to.Warn("metrics incomplete", "error", fmt.Sprint(v...)) }

func (p *Program) streamUse(stream string) (list []withLabels[streamUse]) {
	for _, proj := range p.node.Parts() {
		if proj.Log.Name() == stream {
			list = append(list, withLabels[streamUse]{p.useOf(proj), []string{stream}})
		}
	}
	return list
}

// projectionUse is how far the state of a stream is behind.
type projectionUse struct {
	lag     uint64
	waiting int
}

func (p *Program) projectionUse(stream string) []withLabels[projectionUse] {
	appenders := map[string]*store.Appender{store.EventsStream: p.node.Changes.Appender, store.NotificationsStream: p.node.Notifications.Appender, store.ReadingsStream: p.node.Readings.Appender}
	u := projectionUse{waiting: appenders[stream].Queued()}
	for _, proj := range p.node.Parts() {
		if proj.Log.Name() == stream {
			shown, _ := proj.State.Checkpoint() // before the end of the log, which only grows
			last, _ := proj.Log.Last()
			u.lag = last - min(shown, last)
		}
	}
	return []withLabels[projectionUse]{{u, []string{stream}}}
}

// changesUse is of the disk and the log of changes.
func (p *Program) changesUse() (s storage) {
	var err error
	s.FreeBytes, err = p.node.Store.FreeBytes()
	p.warnMetric("free disk space", err)
	s.Archive, err = p.remover.ArchiveUse()
	p.warnMetric("archives", err)
	return s
}

func (p *Program) unrecorded() int64 { return p.engine.Refused() + p.delivery.Refused() }

func (p *Program) ruleUse() (list []withLabels[retention.RuleUse]) {
	for _, r := range p.remover.RuleUses() {
		list = append(list, withLabels[retention.RuleUse]{r, []string{r.Rule}})
	}
	return list
}

// refusals are the requests to a service that were refused, by reason.
func (p *Program) refusals(service string) (list []withLabels[int]) {
	for _, reason := range handlers.Reasons {
		n := 0
		if p.access != nil && p.access.Refusals != nil {
			n = p.access.Refusals.Count(service, reason)
		}
		list = append(list, withLabels[int]{n, []string{service, string(reason)}})
	}
	return list
}

func (p *Program) connectionCounts() []withLabels[connections.Counts] {
	return unlabelled(p.servers.limiter.Counts())
}

func (p *Program) zeroMQUse() []withLabels[zeromq.Use] { return unlabelled(p.sockets.Use()) }

func (p *Program) callbackCounts() []withLabels[uint64] {
	n := p.callback.Counts()
	return []withLabels[uint64]{
		{n.Accepted, []string{"accepted"}}, {n.Refused, []string{"refused"}}, {n.Failed, []string{"failed"}},
		{n.GivenUp, []string{"given_up"}}, {n.Dropped, []string{"dropped"}},
	}
}

type waitingCallbacks struct{ callbacks, services int }

func (p *Program) waitingCallbacks() []withLabels[waitingCallbacks] {
	callbacks, services := p.callback.Queued()
	return unlabelled(waitingCallbacks{callbacks, services})
}

// endpointUse sums the endpoints of one kind of channel.
type endpointUse struct{ endpoints, failing, waiting, underWay int }

func (p *Program) endpointUse() (list []withLabels[endpointUse]) {
	sums := map[string]endpointUse{}
	for _, e := range p.delivery.Endpoints() {
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
