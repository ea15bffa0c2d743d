package metrics

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledge/domain"
)

// deliveryMeter counts what the log of notifications says of tries and outcomes.
type deliveryMeter struct {
	tries, ended *prometheus.CounterVec
	took         *prometheus.HistogramVec
}

func newDeliveryMeter() deliveryMeter {
	m := deliveryMeter{
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ledge_delivery_tries_total", Help: "Tries to deliver a notification that were recorded since the start, by kind of channel and result.",
		}, []string{"kind", "result"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ledge_deliveries_total", Help: "Transmissions that have ended since the start, by kind of channel and result.",
		}, []string{"kind", "result"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ledge_delivery_duration_seconds", Help: "Time from a notification to its delivery on a channel, tries that failed included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600, 3600},
		}, []string{"kind"}),
	}
	for _, kind := range kinds {
		m.tries.WithLabelValues(kind, "sent")
		m.tries.WithLabelValues(kind, "failed")
		for _, result := range []string{"sent", "failed", "escalated"} {
			m.ended.WithLabelValues(kind, result)
		}
		m.took.WithLabelValues(kind)
	}
	return m
}

func (m deliveryMeter) all() []prometheus.Collector {
	return []prometheus.Collector{m.tries, m.ended, m.took}
}

// CountDeliveries follows the log of notifications from now on until ctx ends.
func (m *Meters) CountDeliveries(ctx context.Context) error {
	err := m.Node.Notifications.Appender.Follow(ctx, m.Node.Notifications.Recorded()+1, func(group []domain.Recorded) error {
		for _, r := range group {
			m.deliveries.event(r.Event)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		m.Logger.Warn("deliveries are not counted any more", "error", err)
		<-ctx.Done()
	}
	return ctx.Err()
}

func (m deliveryMeter) event(e domain.Event) {
	switch e := e.(type) {
	case domain.NotificationsRaised:
		for _, r := range e.Raised {
			m.first(r.Transmissions)
		}
	case domain.NotificationProcessed:
		m.first(e.Transmissions)
	case domain.TransmissionTried:
		t := e.Transmission
		m.tried(t, t.Records[max(0, len(t.Records)-1):])
	}
}

// first counts transmissions that are new on record, with the tries that they come with.
func (m deliveryMeter) first(list []domain.Transmission) {
	for _, t := range list {
		m.tried(t, t.Records)
	}
}

func (m deliveryMeter) tried(t domain.Transmission, records []domain.TransmissionRecord) {
	kind := t.Channel.Type
	if !slices.Contains(kinds, kind) {
		return
	}
	for _, r := range records {
		if r.Status == domain.StatusSent {
			m.tries.WithLabelValues(kind, "sent").Inc()
			m.took.WithLabelValues(kind).Observe(max(0, time.Duration(r.Sent-t.Created)*time.Millisecond).Seconds())
		} else {
			m.tries.WithLabelValues(kind, "failed").Inc()
		}
	}
	switch t.Status {
	case domain.StatusSent, domain.StatusFailed, domain.StatusEscalated:
		m.ended.WithLabelValues(kind, strings.ToLower(t.Status)).Inc()
	}
}
