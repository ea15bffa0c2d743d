package web

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"ledge/domain"
)

// Change says that something was recorded: the topic is the kind of entity, such as devices, readings or notifications. Name is that of
// the entity; of readings it is that of the device. The topic ledger has the name of the log.
type Change struct{ Topic, Name string }

const (
	// mostListeners bounds the open pages with a live connection. At the limit the oldest of the user with the most gives way.
	mostListeners = 256
	// liveEvery is the shortest time between two messages. The first change is sent at once. Those in between become one message: so a page
	// hears of each change within a second.
	liveEvery = 900 * time.Millisecond
	// liveBeat is the time between two messages on an idle connection. It detects broken connections.
	liveBeat = 20 * time.Second
	// mostShared bounds the different pages that are kept to be shared. Each has smallPage bytes at most.
	mostShared = 64
)

// live sends the topics of changes to open pages. It follows the log while a page is open.
//
// All pages get their messages at the same time. So those with the same address can share what they load after a message: one request
// renders the page, and the others get the same text.
type live struct {
	follow func(changed func(Change)) func(ctx context.Context) error
	logger *slog.Logger
	beat   time.Duration // liveBeat
	every  time.Duration // liveEvery

	mu        sync.Mutex
	listeners map[*listener]bool
	timer     *time.Timer // of the next message; nil if there is nothing to send
	last      time.Time   // of the last message
	shared    map[sharedKey]*sharedPage
	stop      context.CancelFunc // nil while no page is open
	running   sync.WaitGroup
	closed    bool
}

// listener is one open page. live.mu guards news and due.
type listener struct {
	user   string
	begun  time.Time
	topics map[string]string // to the name of an entity; "" for all
	wake   chan struct{}     // holds one token when there are due topics, or the user may have lost the right to listen
	news   map[string]bool   // topics of the next message
	due    map[string]bool   // topics of this message
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
		follow: follow, logger: logger, beat: liveBeat, every: liveEvery, listeners: map[*listener]bool{}, shared: map[sharedKey]*sharedPage{},
	}
}

// close ends all connections; there are no new ones.
func (l *live) close() {
	l.mu.Lock()
	l.closed = true
	for one := range l.listeners {
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

// add returns the listener of a user's page; nil at the limit if no user has more pages.
func (l *live) add(user string, topics map[string]string) *listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.listeners) >= mostListeners && !l.makeRoom(user) {
		return nil
	}
	one := &listener{user: user, begun: time.Now(), topics: topics, wake: make(chan struct{}, 1), news: map[string]bool{}, due: map[string]bool{}}
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

// makeRoom ends the oldest connection of the user with the most connections. It returns false if user would then have as many. The caller
// holds mu.
func (l *live) makeRoom(user string) bool {
	by := map[string]int{}
	for one := range l.listeners {
		by[one.user]++
	}
	var oldest *listener
	for one := range l.listeners {
		if oldest == nil || by[one.user] > by[oldest.user] || by[one.user] == by[oldest.user] && one.begun.Before(oldest.begun) {
			oldest = one
		}
	}
	if by[user]+1 >= by[oldest.user] {
		return false
	}
	delete(l.listeners, oldest)
	close(oldest.wake)
	return true
}

func (l *live) remove(one *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, one)
	if len(l.listeners) == 0 {
		l.rest()
	}
}

// recheck wakes all pages at once. The connection of a user who may not listen any more ends.
func (l *live) recheck() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.listeners {
		one.rouse()
	}
}

// rouse wakes a page. The caller holds live.mu.
func (one *listener) rouse() {
	select {
	case one.wake <- struct{}{}:
	default: // it wakes already
	}
}

// changed notes a change for all pages with its topic. A change of a user may end connections.
func (l *live) changed(c Change) {
	if c.Topic == "users" {
		l.recheck()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.listeners {
		if name, wanted := one.topics[c.Topic]; wanted && (name == "" || name == c.Name) {
			l.note(one, c.Topic)
		}
	}
}

// changedAll notes a change of all topics of a page.
func (l *live) changedAll(one *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for topic := range one.topics {
		l.note(one, topic)
	}
}

// note notes a change of a topic for a page, and sees to it that a message follows. The caller holds mu.
func (l *live) note(one *listener, topic string) {
	if one.news[topic] || l.closed {
		return
	}
	one.news[topic] = true
	if l.timer == nil {
		l.timer = time.AfterFunc(max(0, l.every-time.Since(l.last)), l.send)
	}
}

// send wakes the pages with news. What they load from now on is rendered anew. A change after this belongs to the next message: the page
// that another request is rendering may lack it.
func (l *live) send() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return // nobody listens any more
	}
	l.timer, l.last = nil, time.Now()
	clear(l.shared)
	for one := range l.listeners {
		if len(one.news) == 0 {
			continue
		}
		maps.Copy(one.due, one.news)
		clear(one.news)
		one.rouse()
	}
}

// take returns the topics of the message that a page was woken for; none if it was woken for a recheck.
func (l *live) take(one *listener) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	topics := slices.Sorted(maps.Keys(one.due))
	clear(one.due)
	return topics
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
