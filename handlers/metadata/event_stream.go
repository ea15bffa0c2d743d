package metadata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/handlers/access"
	"ledge/handlers/answers"
	"ledge/handlers/connections"
	"ledge/handlers/eventstream"
)

const (
	// mostStreams is how many clients follow the logs at a time. Users, and clients without a login, share them.
	mostStreams = 32
	// streamPage is how many older events a stream reads at once.
	streamPage = 100
	// streamBehind is how many events a stream may be behind the log. If there are more, it reads pages of them.
	streamBehind = 1000
	// streamBehindBytes is the size of the data of the events that wait for the client. If there is more, it reads pages.
	streamBehindBytes = eventlog.MostPageBytes
	// streamCheck is the time between two looks whether the client may still read, besides one before each part. streamBeats of them are
	// the time between two comments on an idle connection.
	streamCheck = time.Second
	streamBeats = 15
	// streamWrite is how long a client may take to read a text.
	streamWrite = 20 * time.Second
	// streamPart is how many bytes are sent at once.
	streamPart = 64 << 10
)

// errBehind says that a stream has to read pages.
var errBehind = errors.New("the stream is too far behind the log")

// errClosing says that the service stops.
var errClosing = errors.New("the service stops")

// eventStream sends the events that a filter chooses to one client.
type eventStream struct {
	events
	c     *gin.Context
	query eventlog.Query
	out   eventstream.Writer
	next  uint64 // sequence of the event that is read next
}

// streamEvents sends events until the client goes, may not read any more, or reads nothing.
func (s events) streamEvents(c *gin.Context, q eventlog.Query) {
	if err := s.beginStream(c, &q); err != nil {
		s.Fail(c, err)
		return
	}
	client := streamClient(c)
	if !s.streams.Take(client, 1) {
		const text = "there are %d streams of events, or three quarters of them of this client, which is the limit; end one, or read pages"
		s.Fail(c, domain.Errorf(domain.Unavailable, text, mostStreams))
		return
	}
	defer s.streams.Give(client, 1)
	stream := &eventStream{events: s, c: c, query: q, next: q.From, out: eventstream.Begin(c.Writer, streamWrite)}
	err := stream.out.Send("retry: 2000\n\n")
	for err == nil {
		if err = stream.catchUp(); err == nil {
			err = stream.follow()
		}
		if errors.Is(err, errBehind) {
			err = nil
		}
	}
	stream.end(err)
}

// end logs why a stream ends: the client has stalled, or the log cannot be read.
func (s *eventStream) end(err error) {
	log := s.Logger.With("service", s.Service, "client", s.c.Request.RemoteAddr)
	code := domain.CodeOf(err)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		log.Info("stream of events is cut off: the client reads nothing")
	case s.c.Request.Context().Err() == nil && !errors.Is(err, errClosing) && (code == domain.Internal || code == domain.Damaged):
		log.Warn("stream of events broke off", "error", err)
	}
}

// beginStream finds the beginning of a stream: behind Last-Event-ID, at from, or now.
func (s events) beginStream(c *gin.Context, q *eventlog.Query) error {
	if q.To > 0 || !q.Until.IsZero() {
		return domain.Errorf(domain.Invalid, "querystring to is not possible for a stream, which has no end; leave it out")
	}
	last, err := s.ledger.Last(q.Log)
	if err != nil {
		return err
	}
	if text := c.GetHeader("Last-Event-ID"); text != "" {
		seq, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return domain.Errorf(domain.Invalid, "header Last-Event-ID: %.80q is not the sequence of an event; use a number", text)
		}
		q.From, q.Since = seq+1, time.Time{}
	}
	if q.From == 0 && q.Since.IsZero() {
		q.From = last + 1
	}
	q.Limit = streamPage
	return nil
}

// streamClient returns the client with which a stream shares the limit: a user, or the address of a client without a login.
func streamClient(c *gin.Context) string {
	if id, ok := access.IdentityOf(c.Request.Context()); ok {
		return id.Actor
	}
	return connections.Client(c.Request)
}

// check returns the reason if the stream has to end, or nil.
func (s *eventStream) check() error {
	select {
	case <-s.Closing:
		return errClosing
	case <-s.c.Request.Context().Done():
		return s.c.Request.Context().Err()
	default:
		return s.Access.StillMay(s.c.Request.Context())
	}
}

// catchUp sends the events that are on the log, page by page.
func (s *eventStream) catchUp() error {
	for {
		if err := s.check(); err != nil {
			return err
		}
		page, err := s.sendPage()
		if err != nil {
			return err
		}
		if s.next = page.Next; s.next > page.Last {
			return nil
		}
	}
}

// sendPage reads a page in turn and sends it. The text of the page counts as memory of answers until it is sent.
func (s *eventStream) sendPage() (page eventlog.Page, err error) {
	memory := s.AnswerMemoryOf(s.c)
	defer memory.Release()
	release, err := s.turns.Take(s.c.Request.Context(), connections.Client(s.c.Request), s.WriteTimeout)
	if err != nil {
		return page, err
	}
	var text []byte
	if err = memory.Hold(eventsWork); err == nil {
		s.query.From = s.next
		page, err = s.ledger.Read(s.c.Request.Context(), s.query)
		text = appendPage(page)
		page.Events = nil
		memory.Keep(int64(cap(text)))
	}
	release()
	switch {
	case err != nil:
	case len(text) == 0 && page.Next <= page.Last: // a filter that chooses few events
		err = s.sendPosition(page.Next - 1)
	default:
		err = s.send(text)
	}
	return page, err
}

// sendPosition sends a comment with the last event that was read, so that a client that comes back continues there.
func (s *eventStream) sendPosition(seq uint64) error {
	return s.out.Send(fmt.Sprintf(": still here\nid: %d\n\n", seq))
}

// appendPage returns a page as server-sent events.
func appendPage(page eventlog.Page) (text []byte) {
	if page.Incomplete != "" {
		text = fmt.Appendf(text, "event: incomplete\ndata: {\"incomplete\":%q}\n\n", page.Incomplete)
	}
	for _, e := range page.Events {
		text = appendEvent(text, e)
	}
	return text
}

// appendEvent appends a server-sent event.
func appendEvent(text []byte, e eventlog.Event) []byte {
	shape := newEventShape(e, eventlog.MostData)
	text = fmt.Appendf(text, "id: %d\nevent: %s\ndata: ", e.Seq, eventlog.VerbOf(e.Wire.Type))
	text, _ = answers.AppendJSON(text, &shape) // a shape can be encoded
	return append(text, "\n\n"...)
}

// send sends a text in parts, and nothing if it is empty. A client may read slowly: before each part its rights are checked.
func (s *eventStream) send(text []byte) error {
	for part := range slices.Chunk(text, streamPart) {
		err := s.check()
		if err == nil {
			err = s.out.Send(string(part))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow sends the events that are recorded from now on.
func (s *eventStream) follow() error {
	ctx, stop := context.WithCancel(s.c.Request.Context())
	groups, failed := make(chan []eventlog.Event), make(chan error, 1)
	var tail sync.WaitGroup
	tail.Go(func() {
		failed <- s.ledger.Tail(ctx, s.query.Log, s.next, func(group []eventlog.Event) error { return s.hand(ctx, groups, group) })
	})
	defer tail.Wait()
	defer stop()
	tick := time.NewTicker(streamCheck)
	defer tick.Stop()
	for idle := 0; ; {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Closing:
			return errClosing
		case err := <-failed:
			return err
		case group := <-groups:
			idle = 0
			err = s.sendGroup(group)
		case <-tick.C:
			if idle++; idle%streamBeats == 0 {
				err = s.sendPosition(s.next - 1)
			}
		}
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return err
		}
	}
}

// hand hands a group to the stream, unless the group is too large or too far behind the log. The log is then read by pages, of which less
// is in memory.
func (s *eventStream) hand(ctx context.Context, groups chan<- []eventlog.Event, group []eventlog.Event) error {
	last, err := s.ledger.Last(s.query.Log)
	bytes := 0
	for _, e := range group {
		bytes += len(e.Wire.Data)
	}
	if err == nil && (last > group[len(group)-1].Seq+streamBehind || bytes > streamBehindBytes) {
		err = errBehind
	}
	if err != nil {
		return err
	}
	select {
	case groups <- group:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendGroup sends the events of a group that the filter chooses.
func (s *eventStream) sendGroup(group []eventlog.Event) error {
	var text []byte
	for _, e := range group {
		if e.Seq < s.next {
			continue
		}
		if s.next = e.Seq + 1; s.query.Matches(e) {
			text = appendEvent(text, e)
		}
		if len(text) >= streamPart {
			if err := s.send(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	return s.send(text)
}
