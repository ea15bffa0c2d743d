package console

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// Change says that something was recorded: the topic is the kind of entity, such as devices, readings or notifications. Name is that of
// the entity; of readings it is that of the device. The topic ledger has the name of the log.
type Change struct{ Topic, Name string }

// Topics are all topics.
var Topics = []string{"devices", "profiles", "services", "watchers", "subscriptions", "notifications", "transmissions", "readings", "users", "tokens", "ledger"}

const (
	// mostListeners bounds the open pages with a live connection.
	mostListeners = 256
	// liveEvery is the shortest time between two messages to a page. The first change is sent at once, and those in between become one
	// message: so a page shows each change within a second.
	liveEvery = 900 * time.Millisecond
	// livePage is that time for each open page, if it is more: all pages together get at most 17 messages a second.
	livePage = 60 * time.Millisecond
	// liveBeat is the time between two messages on an idle connection. It detects broken connections.
	liveBeat = 20 * time.Second
)

// live sends the topics of changes to open pages. It follows the log while a page is open.
type live struct {
	follow func(changed func(Change)) func(ctx context.Context) error
	logger *slog.Logger
	beat   time.Duration // liveBeat

	mu        sync.Mutex
	listeners map[*listener]bool
	stop      context.CancelFunc // nil while no page is open
	running   sync.WaitGroup
	closed    bool
}

// listener is one open page.
type listener struct {
	topics map[string]string // to the name of an entity; "" for all
	wake   chan struct{}     // holds one token when there is something new
	mu     sync.Mutex
	news   map[string]bool // by topic
	ended  bool            // wake is closed
}

func newLive(follow func(changed func(Change)) func(ctx context.Context) error, logger *slog.Logger) *live {
	return &live{follow: follow, logger: logger, beat: liveBeat, listeners: map[*listener]bool{}}
}

// close ends all connections; there are no new ones.
func (l *live) close() {
	l.mu.Lock()
	l.closed = true
	for one := range l.listeners {
		one.end()
		delete(l.listeners, one)
	}
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.mu.Unlock()
	l.running.Wait()
}

// add returns the listener of a page; nil at the limit.
func (l *live) add(topics map[string]string) *listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.listeners) >= mostListeners {
		return nil
	}
	one := &listener{topics: topics, wake: make(chan struct{}, 1), news: map[string]bool{}}
	l.listeners[one] = true
	if l.stop == nil && l.follow != nil {
		ctx, stop := context.WithCancel(context.Background())
		l.stop = stop
		run := l.follow(l.changed)
		l.running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil && domain.CodeOf(err) != domain.Unavailable {
				l.logger.Warn("open pages of the console are not told of changes any more", "error", err)
			}
		})
	}
	return one
}

func (l *live) remove(one *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, one)
	if len(l.listeners) == 0 && l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// pause is the time between two messages to a page. It grows with the number of pages, because each page that gets a message loads a part.
func (l *live) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(liveEvery, livePage*time.Duration(len(l.listeners)))
}

// changed notes a change for all pages with its topic.
func (l *live) changed(c Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.listeners {
		if name, wanted := one.topics[c.Topic]; wanted && (name == "" || name == c.Name) {
			one.note(c.Topic)
		}
	}
}

// noteAll notes a change of all topics.
func (o *listener) noteAll() {
	for topic := range o.topics {
		o.note(topic)
	}
}

// note notes a change of a topic.
func (o *listener) note(topic string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.news[topic] || o.ended {
		return
	}
	o.news[topic] = true
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// end has the page's connection end.
func (o *listener) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	close(o.wake)
}

// take returns the topics that have changed, and takes the token for them.
func (o *listener) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.wake:
	default:
	}
	var topics []string
	for topic := range o.news {
		topics = append(topics, topic)
	}
	clear(o.news)
	slices.Sort(topics)
	return topics
}

// serveLive sends changes to a page as server-sent events: the data of each are topics with spaces between. The query names topics, each
// with the name of one entity or without: devices=hall&readings=hall. at is the position of the state that the page shows. If the position
// has changed since, the page gets all topics at once.
func (s *Console) serveLive(c *gin.Context) {
	wanted := map[string]string{}
	query := c.Request.URL.Query()
	at := query.Get("at")
	query.Del("at")
	for topic, names := range query {
		if !slices.Contains(Topics, topic) {
			s.showError(c, http.StatusBadRequest, fmt.Sprintf("There is no topic %.80q; use one of %s.", topic, strings.Join(Topics, ", ")))
			return
		}
		wanted[topic] = names[0]
	}
	one := s.live.add(wanted)
	if one == nil {
		c.Header("Retry-After", "10")
		c.String(http.StatusServiceUnavailable, "too many pages are open; this page does not show changes\n")
		return
	}
	defer s.live.remove(one)
	if s.Position != nil && at != s.Position() {
		one.noteAll()
	}
	c.Header("Content-Type", "text/event-stream")
	c.Header("X-Accel-Buffering", "no") // of nginx
	if s.tell(c, "retry: 2000\n\n") != nil {
		return
	}
	s.tellAll(c, one)
}

func (s *Console) tellAll(c *gin.Context, one *listener) {
	beat := time.NewTicker(s.live.beat)
	defer beat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		var err error
		select {
		case <-c.Request.Context().Done():
			return
		case <-beat.C:
			if !s.stillLoggedIn(c) {
				return
			}
			err = s.tell(c, ": still here\n\n")
		case _, open := <-one.wake:
			if !open {
				return
			}
			select {
			case <-pause.C:
			case <-c.Request.Context().Done():
				return
			}
			err = s.tell(c, "data: "+strings.Join(one.take(), " ")+"\n\n")
			pause.Reset(s.live.pause())
		}
		if err != nil {
			return
		}
	}
}

// tell sends a text. The time to write begins anew with each: that of the whole answer would end an idle connection.
func (s *Console) tell(c *gin.Context, text string) error {
	below := c.Writer.(interface{ Unwrap() http.ResponseWriter }).Unwrap() // Gin's Flush does nothing if the writer below has no Flush
	controller := http.NewResponseController(below)
	if err := controller.SetWriteDeadline(time.Now().Add(s.live.beat)); err != nil {
		return err
	}
	w := bufio.NewWriter(c.Writer)
	_, _ = w.WriteString(text) // Flush returns the error
	if err := w.Flush(); err != nil {
		return err
	}
	return controller.Flush()
}
