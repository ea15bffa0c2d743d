package metadata

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/moment"
	"ledge/handlers"
	"ledge/handlers/access"
)

// Replays publish spans of the logs again on the bus.
type Replays interface {
	// Start begins a replay. Errors are Invalid for the order, and Conflict if another one runs or the node has no bus.
	Start(ctx context.Context, o domain.BusReplayOrder) (domain.BusReplay, error)
	// List returns the last replays, the newest first. One of them may run.
	List() []domain.BusReplay
	// Stop stops a replay; ok is false if there is none with the id.
	Stop(id string) (ok bool)
}

// replayAnswer is a replay on the bus.
type replayAnswer struct {
	handlers.Envelope
	Replay domain.BusReplay `json:"replay"`
}

type replaysAnswer struct {
	handlers.Envelope
	Replays []domain.BusReplay `json:"replays"`
}

// busReplays serves the replays on the bus.
type busReplays struct {
	*handlers.API
	replays Replays
}

func (s busReplays) routes() []handlers.Route {
	return []handlers.Route{
		{Method: "POST", Path: "/ledger/replay", Right: domain.MayAdminister, Handle: s.startReplay},
		{Method: "GET", Path: "/ledger/replay/all", Right: domain.MayAdminister, Handle: s.listReplays},
		{Method: "GET", Path: "/ledger/replay/id/:id", Right: domain.MayAdminister, Handle: s.showReplay},
		{Method: "DELETE", Path: "/ledger/replay/id/:id", Right: domain.MayAdminister, Handle: s.stopReplay},
	}
}

// startReplay answers 202 once a replay runs.
func (s busReplays) startReplay(c *gin.Context) {
	o, err := readOrder(c)
	var r domain.BusReplay
	if err == nil {
		r, err = s.replays.Start(c.Request.Context(), o)
	}
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Reply(c, http.StatusAccepted, replayAnswer{s.Envelope(http.StatusAccepted), r})
}

// readOrder reads the replay in the query of a request.
func readOrder(c *gin.Context) (o domain.BusReplayOrder, err error) {
	if err := handlers.Unconditional(c.Request.Header); err != nil {
		return o, err
	}
	o = domain.BusReplayOrder{ID: c.Query("id"), Subject: c.Query("subject"), Speed: 1, Actor: access.Actor(c.Request)}
	for field, at := range map[string]*moment.Moment{"from": &o.From, "to": &o.To} {
		if *at, err = moment.Parse(c.Query(field), time.Now()); err != nil {
			return o, domain.FieldErrorf(field, "%v", err)
		}
	}
	switch text, given := c.GetQuery("speed"); {
	case text == "max":
		o.Speed = 0
	case given:
		if o.Speed, err = strconv.ParseFloat(text, 64); err != nil || o.Speed == 0 {
			return o, domain.FieldErrorf("speed", "%.80q is not a speed; use a number such as 1 or 10, or max", text)
		}
	}
	return o, nil
}

func (s busReplays) listReplays(c *gin.Context) {
	a := replaysAnswer{s.Envelope(http.StatusOK), s.replays.List()}
	if a.Replays == nil {
		a.Replays = []domain.BusReplay{}
	}
	s.Reply(c, http.StatusOK, a)
}

func (s busReplays) showReplay(c *gin.Context) {
	for _, r := range s.replays.List() {
		if r.ID == c.Param("id") {
			s.Reply(c, http.StatusOK, replayAnswer{s.Envelope(http.StatusOK), r})
			return
		}
	}
	s.Fail(c, unknownReplay(c))
}

func (s busReplays) stopReplay(c *gin.Context) {
	if !s.replays.Stop(c.Param("id")) {
		s.Fail(c, unknownReplay(c))
		return
	}
	s.Reply(c, http.StatusOK, s.Envelope(http.StatusOK))
}

func unknownReplay(c *gin.Context) error {
	return domain.Errorf(domain.NotFound, "replay %.80q is not among the last ones; list them for their ids", c.Param("id"))
}
