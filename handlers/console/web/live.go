package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"net/url"
	"sync"
	"time"

	"ledge/domain"
)

// Change says that something was recorded: the topic is the kind of entity, such as devices, readings or notifications. Name is that of
// the entity; of readings it is that of the device. The topic ledger has the name of the log. A page that asks for changes without a name
// asks for the changes of all entities.
type Change struct{ Topic, Name string }

const (
	// mostListeners bounds the browsers with a live stream. At the limit the oldest stream of the user with the most ends.
	mostListeners = 256
	// mostTopics bounds the changes that the pages of one stream ask for together.
	mostTopics = 128
	// liveEvery is the shortest time between two messages. The first change is sent at once. Those in between become one message: so a page
	// hears of each change within a second.
	liveEvery = 900 * time.Millisecond
	// liveBeat is the time between two messages on an idle connection. It detects broken connections.
	liveBeat = 20 * time.Second
	// mostShared bounds the different pages that are kept to be shared. Each has smallPage bytes at most.
	mostShared = 64
)

// live sends changes to open pages. It follows the log while a page is open. The pages of a browser share one stream; see static/stream.js.
//
// All pages get their messages at the same time. Pages with the same address can therefore share the answer that they load after a message:
// one request renders the page, and the others get the same text.
type live struct {
	follow func(changed func(Change)) func(ctx context.Context) error
	logger *slog.Logger
	beat   time.Duration // liveBeat
	every  time.Duration // liveEvery

	mu        sync.Mutex
	listeners map[string]*listener // by the names of their streams
	timer     *time.Timer          // of the next message; nil if there is nothing to send
	last      time.Time            // of the last message
	shared    map[sharedKey]*sharedPage
	stop      context.CancelFunc // nil while no page is open
	running   sync.WaitGroup
	closed    bool
}

// listener is one stream, for the open pages of a browser. live.mu guards topics, news and due.
type listener struct {
	user   string
	stream string // a name that nobody guesses
	begun  time.Time
	topics map[Change]bool // that the pages ask for
	wake   chan struct{}   // holds one token when there are due changes, or the user may have lost the right to listen
	news   map[Change]bool // of the next message, as the pages ask for them
	due    map[Change]bool // of this message
}

// sharedKey says which live requests get the same answer.
type sharedKey struct {
	role domain.Role
	host string // the page of a device shows it
	uri  string
	gzip bool
}

// sharedPage is an answer that the first request renders and others wait for.
type sharedPage struct {
	key    sharedKey
	begun  time.Time
	done   chan struct{} // closed when text is known
	kept   bool          // done is closed
	text   []byte        // nil after an error
	packed bool          // text is compressed
}

func newLive(follow func(changed func(Change)) func(ctx context.Context) error, logger *slog.Logger) *live {
	return &live{
		follow: follow, logger: logger, beat: liveBeat, every: liveEvery,
		listeners: map[string]*listener{}, shared: map[sharedKey]*sharedPage{},
	}
}

// close ends all connections; there are no new ones.
func (l *live) close() {
	l.mu.Lock()
	l.closed = true
	for _, one := range l.listeners {
		close(one.wake)
	}
	clear(l.listeners)
	l.rest()
	l.mu.Unlock()
	l.running.Wait()
}

// rest ends the work that open pages need. The caller holds mu.
func (l *live) rest() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	clear(l.shared)
}

// add returns the listener of a new stream of a user; nil at the limit if no user has more streams.
func (l *live) add(user string) *listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.listeners) >= mostListeners && !l.makeRoom(user) {
		return nil
	}
	one := &listener{
		user: user, stream: rand.Text(), begun: time.Now(), wake: make(chan struct{}, 1), news: map[Change]bool{}, due: map[Change]bool{},
	}
	l.listeners[one.stream] = one
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

// setTopics changes what the pages of a stream ask for. It returns false if the user has no such stream. A page that has joined loads its
// parts if they are old. Pages that load from now on are rendered anew.
func (l *live) setTopics(user, stream string, topics map[Change]bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.listeners[stream]
	if one == nil || one.user != user {
		return false
	}
	one.topics = topics
	clear(l.shared)
	return true
}

// makeRoom ends the oldest stream of the user with the most streams. It returns false if user would then have as many. The caller holds mu.
func (l *live) makeRoom(user string) bool {
	by := map[string]int{}
	for _, one := range l.listeners {
		by[one.user]++
	}
	var oldest *listener
	for _, one := range l.listeners {
		if oldest == nil || by[one.user] > by[oldest.user] || by[one.user] == by[oldest.user] && one.begun.Before(oldest.begun) {
			oldest = one
		}
	}
	if by[user]+1 >= by[oldest.user] {
		return false
	}
	delete(l.listeners, oldest.stream)
	close(oldest.wake)
	return true
}

func (l *live) remove(one *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, one.stream)
	if len(l.listeners) == 0 {
		l.rest()
	}
}

// recheck wakes all streams at once. The stream of a user without the right to listen ends.
func (l *live) recheck() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.listeners {
		one.rouse()
	}
}

// rouse wakes a stream. The caller holds live.mu.
func (one *listener) rouse() {
	select {
	case one.wake <- struct{}{}:
	default: // it wakes already
	}
}

// changed notes a change for all streams that ask for it. A change of a user may end streams.
func (l *live) changed(c Change) {
	if c.Topic == "users" {
		l.recheck()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.listeners {
		for _, topic := range []Change{c, {Topic: c.Topic}} {
			if one.topics[topic] {
				l.note(one, topic)
			}
		}
	}
}

// note notes a change for a stream that asks for it, and a message follows. The caller holds mu.
func (l *live) note(one *listener, topic Change) {
	if one.news[topic] || l.closed {
		return
	}
	one.news[topic] = true
	if l.timer == nil {
		l.timer = time.AfterFunc(max(0, l.every-time.Since(l.last)), l.send)
	}
}

// send wakes the streams with news. Pages that load from now on are rendered anew. A change after this belongs to the next message: the
// page that another request is rendering may lack it.
func (l *live) send() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return // nobody listens any more
	}
	l.timer, l.last = nil, time.Now()
	clear(l.shared)
	for _, one := range l.listeners {
		if len(one.news) == 0 {
			continue
		}
		maps.Copy(one.due, one.news)
		clear(one.news)
		one.rouse()
	}
}

// take returns the message that a stream was woken for, as a query such as devices=hall&readings=; "" if it was woken for a recheck.
func (l *live) take(one *listener) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	message := url.Values{}
	for topic := range one.due {
		message.Add(topic.Topic, topic.Name)
	}
	clear(one.due)
	return message.Encode()
}

// page returns the answer for a key; first says that the caller renders it, and calls keep then. The answer of another request is as new as
// the last message, and is not older than a message may be late.
func (l *live) page(key sharedKey) (page *sharedPage, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if page := l.shared[key]; page != nil && time.Since(page.begun) < l.every {
		return page, false
	}
	page = &sharedPage{key: key, begun: time.Now(), done: make(chan struct{})}
	if len(l.listeners) > 0 && len(l.shared) < mostShared {
		l.shared[key] = page
	}
	return page, true
}

// keep gives the text of a page to those that wait for it; without a text they render for themselves. Only the first call counts.
func (l *live) keep(page *sharedPage, text []byte, packed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if page.kept {
		return
	}
	page.kept, page.text, page.packed = true, text, packed
	close(page.done)
	if text == nil && l.shared[page.key] == page {
		delete(l.shared, page.key)
	}
}
