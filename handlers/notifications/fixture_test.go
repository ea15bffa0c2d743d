package notifications

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

const subscriptionID = "f017d99e-9b7d-49fc-a6ea-b2eea30d7ad9"

// ports are Channels that hold nothing but a count. Port 1 cannot be had.
type ports struct {
	held int
	// reserved and done are what Reserve and done were called with.
	reserved []domain.Channel
	done     []uint64
}

// ServerKey implements Channels.
func (p *ports) ServerKey() string { return "the server's key" }

func (p *ports) Reserve(channels []domain.Channel) (func(uint64), error) {
	if slices.ContainsFunc(channels, func(c domain.Channel) bool { return c.Port == 1 }) {
		return nil, domain.Errorf(domain.Conflict, "port 1 is taken; choose another")
	}
	p.held++
	p.reserved = append(p.reserved, channels...)
	return func(seq uint64) {
		p.held--
		p.done = append(p.done, seq)
	}, nil
}

type fixture struct {
	http.Handler
	events, notices *handlerstest.Log
	ports           *ports
	replays         *replays
}

// replays are Replays that send nothing: each is on record as one that sent two notifications.
type replays struct {
	notices *handlerstest.Log
	ordered []domain.ReplayOrder
	last    domain.Replay // what is answered
	err     error
}

func (r *replays) Replay(ctx context.Context, o domain.ReplayOrder, by domain.Stamp) (domain.Replay, error) {
	r.ordered = append(r.ordered, o)
	if r.err != nil {
		return domain.Replay{}, r.err
	}
	r.last = domain.Replay{Subscription: o.Subscription, From: 3, Last: 9, Count: 2, Dropped: 1, More: true}
	_, err := r.notices.Submit(ctx, domain.Request{Stamp: by, Command: domain.RecordReplay{Replay: r.last}})
	return r.last, err
}

func (r *replays) Cursor(string) (domain.DeliveryCursor, error) {
	return domain.DeliveryCursor{Last: uint64(len(r.ordered)), Sent: handlerstest.NowMilli}, r.err
}

// mustNotifications returns support-notifications with one subscription.
func mustNotifications(tb testing.TB, change ...func(*handlers.Options)) fixture {
	tb.Helper()
	o := handlerstest.Options("support-notifications")
	for _, f := range change {
		f(&o)
	}
	f := fixture{events: handlerstest.NewLog(), notices: handlerstest.NewLog(), ports: &ports{}}
	f.replays = &replays{notices: f.notices}
	f.events.Given(tb, domain.AddSubscription{Subscription: domain.Subscription{
		ID: subscriptionID, Name: "s-1", Description: "sub", Receiver: "till", AdminState: "UNLOCKED", Categories: []string{"DEVICE_CHANGED"},
		Channels: []domain.Channel{{Type: "ZeroMQ", Host: "*", Port: 5563, Topic: "t"}}, Created: 1, Modified: 1,
	}})
	f.Handler = contract.Watch(tb, New(o, f.events.View, f.events, f.events.Past(), f.notices.View, f.notices, f.ports, f.replays, stuck{}))
	return f
}
