package metadata

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/connections"
	"ledge/handlers/quota"
)

// tilesAtOnce is how many tiles and checkpoints are made at a time. For each, up to 257 events are read.
const tilesAtOnce = 2

// tileForever has caches keep a tile: its content never changes. Only the client that asked may keep it, because tiles need a right.
const tileForever = "private, max-age=31536000, immutable"

// Transparency is a log as C2SP tlog-tiles has it.
type Transparency interface {
	// Checkpoint returns the signed checkpoint of all events that were recorded before the call.
	Checkpoint(ctx context.Context) (string, error)
	// Resource returns the content at a path below tile/, such as "0/x001/234.p/5" or "entries/000".
	Resource(ctx context.Context, path string) ([]byte, error)
}

// transparency serves the checkpoint and the tiles of a log.
type transparency struct {
	*handlers.API
	log   Transparency
	turns quota.Turns
}

func newTransparency(s service, log Transparency) transparency {
	return transparency{s.API, log, quota.NewTurns("too many tiles are being made", tilesAtOnce)}
}

func (t transparency) routes() []handlers.Route {
	return []handlers.Route{
		{Method: "GET", Path: "/ledger/checkpoint", Right: domain.MayAudit, Handle: t.inTurn(t.getCheckpoint)},
		{Method: "GET", Path: "/ledger/tile/*tile", Right: domain.MayAudit, Handle: t.inTurn(t.getTile)},
	}
}

// inTurn has a request wait for its turn.
func (t transparency) inTurn(next func(c *gin.Context) error) handlers.Handler {
	return func(c *gin.Context) {
		release, err := t.turns.Take(c.Request.Context(), connections.Client(c.Request), t.WriteTimeout)
		if err != nil {
			t.Fail(c, err)
			return
		}
		defer release()
		if err := next(c); err != nil {
			t.Fail(c, err)
		}
	}
}

func (t transparency) getCheckpoint(c *gin.Context) error {
	text, err := t.log.Checkpoint(c.Request.Context())
	if err == nil {
		c.Header("Cache-Control", "no-cache")
		c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
	}
	return err
}

func (t transparency) getTile(c *gin.Context) error {
	text, err := t.log.Resource(c.Request.Context(), strings.TrimPrefix(c.Param("tile"), "/"))
	if err == nil {
		c.Header("Cache-Control", tileForever)
		c.Data(http.StatusOK, "application/octet-stream", text)
	}
	return err
}
