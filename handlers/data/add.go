package data

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/bodies"
)

// addEvent records a posted event: 201 with its id.
func (s service) addEvent(c *gin.Context) {
	item, err := s.add(c)
	if err != nil {
		s.Fail(c, err)
		return
	}
	s.Reply(c, http.StatusCreated, item)
}

func (s service) add(c *gin.Context) (item handlers.Item, err error) {
	key, err := s.Key(c)
	if err != nil {
		return item, err
	}
	data, err := s.ReadBody(c, s.BodyBytes)
	if err != nil {
		return item, err
	}
	var sum [sha256.Size]byte
	if key != "" {
		sum = sha256.Sum256(data)
	}
	added, head, err := s.readEvent(c, data)
	if err != nil {
		return item, err
	}
	for _, r := range added.Readings { // each can name another device than the path
		if err := s.MayPostTo(c.Request, r.Device); err != nil {
			return item, err
		}
	}
	held, err := s.keepLarge(c.Request.Context(), &added)
	if err != nil {
		for _, digest := range held {
			s.payloads.Release(digest, false)
		}
		return item, err
	}
	var seq uint64
	err = bodies.SubmitReleasing(s.payloads, held, func() (uint64, error) {
		_, seq, err = s.Once(c, s.log, key, sum, domain.AddDataEvent{Added: added}, len(data))
		return seq, err
	})
	if err != nil {
		return item, err
	}
	if seq > 0 { // else it is not stored
		handlers.SetETag(c, seq)
	}
	item = handlers.Item{Envelope: s.Envelope(http.StatusCreated), ID: added.Event.ID}
	item.RequestID, item.Message = head.RequestID, head.Ignored()
	return item, nil
}

// inlineTogether is how much of an event's message its longer values may take, in bytes. With the short ones and all else
// that an event has, it stays below the largest message of the log.
const inlineTogether = 4 << 20

// keepLarge puts the values that are too long for the event beside the log, and returns what is held of them.
func (s service) keepLarge(ctx context.Context, e *domain.DataEventAdded) (held []string, err error) {
	var together int64
	for i := range e.Readings {
		r := &e.Readings[i]
		if r.ValueType != domain.Binary && r.Size <= domain.MaxRowText { // the state has it too
			continue
		}
		if takes := takes(*r); together+takes <= inlineTogether && r.Size <= s.InlineBytes {
			together += takes
			continue
		}
		if r.Digest, _, err = s.payloads.Put(ctx, content(*r), r.Size); err != nil {
			return held, err
		}
		held = append(held, r.Digest)
		r.Text, r.Object, r.Data = "", nil, nil
	}
	return held, nil
}

// takes is the most bytes that a value takes in JSON, where a character can take six.
func takes(r domain.ReadingValue) int64 {
	if r.ValueType == domain.Binary {
		return int64(base64.StdEncoding.EncodedLen(len(r.Data)))
	}
	return 6 * r.Size
}

// content is the value itself.
func content(r domain.ReadingValue) io.Reader {
	return io.MultiReader(bytes.NewReader(r.Data), bytes.NewReader(r.Object), strings.NewReader(r.Text)) // of which it has one
}
