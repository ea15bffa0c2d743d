package web

import (
	"net/http"
	"net/url"
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

// liveStreams serves the streams of open pages. A browser has one stream for all its pages, so that it keeps connections for other
// requests: without TLS it opens six to one server.
type liveStreams struct{ *Site }

func (s liveStreams) routes() []Route {
	return []Route{Get(livePath, domain.MayRead, s.serve), Post(livePath, domain.MayRead, s.choose)}
}

// serve sends changes to a browser as server-sent events. The first event, begin, has the name of the stream and the name of its user, as
// a query: stream=…&user=anna. The data of each further event are the changed topics that the pages ask for: devices=hall&readings=.
func (s liveStreams) serve(c *gin.Context) error {
	u, _ := User(c)
	one := s.live.add(u.Name)
	if one == nil {
		c.Header("Retry-After", "10")
		c.String(http.StatusTooManyRequests, "too many browsers show the console; this one does not show changes\n")
		return nil
	}
	defer s.live.remove(one)
	s.tellAll(c, one)
	return nil
}

// choose sets the topics of a stream. The form has the name of the stream, and the topics: stream=…&devices=hall&devices=yard&readings=. A
// topic has the name of one entity, or of none for all. The answer is the position of the state then: a page that shows another state
// has to load itself anew.
func (s liveStreams) choose(c *gin.Context) error {
	form := c.Request.PostForm
	stream := form.Get("stream")
	form.Del("stream")
	topics := map[Change]bool{}
	for topic, names := range form {
		if !slices.Contains(s.Topics, topic) {
			c.String(http.StatusBadRequest, "there is no topic %.80q; use one of %s\n", topic, strings.Join(s.Topics, ", "))
			return nil
		}
		for _, name := range names {
			topics[Change{topic, name}] = true
		}
	}
	if len(topics) > mostTopics {
		const text = "the form has %d topics, and a stream has at most %d; close other windows\n"
		c.String(http.StatusBadRequest, text, len(topics), mostTopics)
		return nil
	}
	u, _ := User(c)
	if !s.live.setTopics(u.Name, stream, topics) {
		c.String(http.StatusNotFound, "the stream %.80q has ended; open another one\n", stream)
		return nil
	}
	at := ""
	if s.Position != nil {
		at = s.Position()
	}
	c.String(http.StatusOK, "%s", at)
	return nil
}

// tellAll sends the messages of a stream while its user may listen.
func (s liveStreams) tellAll(c *gin.Context, one *listener) {
	stream := eventstream.Begin(c.Writer, s.live.beat)
	beat := time.NewTicker(s.live.beat)
	defer beat.Stop()
	begin := url.Values{"stream": {one.stream}, "user": {one.user}}
	for text := "event: begin\ndata: " + begin.Encode() + "\n\n"; s.mayListen(c) && stream.Send(text) == nil; {
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
			if message := s.live.take(one); message != "" {
				text = "data: " + message + "\n\n"
			}
		}
	}
}

// mayListen reports whether the session of a stream continues and its user may still read.
func (s liveStreams) mayListen(c *gin.Context) bool {
	u, ok := s.Sessions.userNow(c)
	return ok && u.Role.May(domain.MayRead)
}
