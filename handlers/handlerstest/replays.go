package handlerstest

import (
	"cmp"
	"context"

	"ledge/domain"
)

// Replays are replays on the bus that only are on a list.
type Replays struct {
	Log     *Log // its Fail is the answer of Start
	Ordered []domain.BusReplayOrder
	list    []domain.BusReplay
}

// NewReplays returns Replays with one, r-1, that has ended.
func NewReplays(log *Log) *Replays {
	return &Replays{Log: log, list: []domain.BusReplay{{ID: "r-1", Subject: "replay.r-1.>", State: domain.ReplayDone}}}
}

// Start implements metadata.Replays.
func (r *Replays) Start(_ context.Context, o domain.BusReplayOrder) (domain.BusReplay, error) {
	o.ID = cmp.Or(o.ID, "r-1")
	if err := o.Check(); err != nil {
		return domain.BusReplay{}, err
	}
	if r.Log != nil && r.Log.Fail != nil {
		return domain.BusReplay{}, r.Log.Fail
	}
	if len(r.list) > 0 && r.list[0].State == domain.ReplayRuns {
		return domain.BusReplay{}, domain.Errorf(domain.Conflict, "replay %q runs", r.list[0].ID)
	}
	r.Ordered = append(r.Ordered, o)
	replay := domain.BusReplay{
		ID: o.ID, Subject: "replay." + o.ID + ".>", State: domain.ReplayRuns, Actor: o.Actor, Speed: o.Speed, Started: 1795246925123,
	}
	r.list = append([]domain.BusReplay{replay}, r.list...)
	return replay, nil
}

// List implements metadata.Replays.
func (r *Replays) List() []domain.BusReplay { return r.list }

// Stop implements metadata.Replays.
func (r *Replays) Stop(id string) bool {
	for i := range r.list {
		if r.list[i].ID == id {
			r.list[i].State, r.list[i].Ended = domain.ReplayStopped, 1795246926123
			return true
		}
	}
	return false
}
