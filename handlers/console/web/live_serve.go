package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/eventstream"
)

// Share makes a handler of a live page whose requests after a message share their answers. Show keeps the answer.
func (s *Site) Share(handle Handler) Handler {
	return func(c *gin.Context) error {
		u, known := User(c)
		if !known || !IsLive(c) {
			return handle(c)
		}
		page, first := s.live.page(sharedKey{u.Role, c.Request.Host, c.Request.URL.RequestURI(), acceptsGzip(c)})
		if first {
			defer s.live.keep(page, nil, false) // after an error
			c.Set("shared", page)
			return handle(c)
		}
		select {
		case <-page.done:
		case <-c.Request.Context().Done():
			return nil
		}
		if page.text == nil {
			return handle(c)
		}
		writePage(c, http.StatusOK, page.text, page.packed)
		return nil
	}
}

// liveConnections serves the connections of open pages.
type liveConnections struct{ *Site }

// serveLive sends changes to a page as server-sent events: the data of each are topics with spaces between. The query names topics, each
// with the name of one entity or without: devices=hall&readings=hall. at is the position of the state that the page shows. If the position
// has changed since, the page gets all topics at once.
func (s liveConnections) serveLive(c *gin.Context) error {
	wanted := map[string]string{}
	query := c.Request.URL.Query()
	at := query.Get("at")
	query.Del("at")
	for topic, names := range query {
		if !slices.Contains(s.Topics, topic) {
			return s.ShowError(c, http.StatusBadRequest,
				fmt.Sprintf("There is no topic %.80q; use one of %s.", topic, strings.Join(s.Topics, ", ")))
		}
		wanted[topic] = names[0]
	}
	u, _ := User(c)
	one := s.live.add(u.Name, wanted)
	if one == nil {
		c.Header("Retry-After", "10")
		c.String(http.StatusServiceUnavailable, "too many pages are open; this page does not show changes\n")
		return nil
	}
	defer s.live.remove(one)
	if s.Position != nil && at != s.Position() {
		s.live.changedAll(one)
	}
	s.tellAll(c, one)
	return nil
}

// tellAll sends the messages of a page while its user may listen.
func (s liveConnections) tellAll(c *gin.Context, one *listener) {
	stream := eventstream.Begin(c.Writer, s.live.beat)
	beat := time.NewTicker(s.live.beat)
	defer beat.Stop()
	for text := "retry: 2000\n\n"; s.mayListen(c) && stream.Send(text) == nil; {
		select {
		case <-c.Request.Context().Done():
			return
		case <-beat.C:
			text = ": still here\n\n"
		case _, open := <-one.wake:
			if !open {
				return
			}
			text = ""
			if topics := s.live.take(one); len(topics) > 0 {
				text = "data: " + strings.Join(topics, " ") + "\n\n"
			}
		}
	}
}

// mayListen reports whether the session of a live connection goes on and its user may still read.
func (s liveConnections) mayListen(c *gin.Context) bool {
	u, ok := s.Sessions.userNow(c)
	return ok && u.Role.May(domain.MayRead)
}
