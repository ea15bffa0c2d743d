package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	openPages     = 50
	openIdle      = 5    // percent of a core, when nothing happens
	openPostRatio = .9   // of the posts without open pages
	openDelay     = 1000 // ms from a post until a page has loaded its value
	openValues    = 20
)

// loadOpenPages measures what open pages cost when nothing happens, and posts with and without them.
func loadOpenPages(ctx context.Context, b *bench, ledge *process, cookie string) error {
	done, err := openAll(ctx, ledge.console, cookie)
	if err != nil {
		return err
	}
	before := ledge.cpu()
	select {
	case <-time.After(b.counts.limit):
	case <-ctx.Done():
		done()
		return context.Cause(ctx)
	}
	idle := 100 * (ledge.cpu() - before).Seconds() / b.counts.limit.Seconds()
	done()
	b.single(fmt.Sprintf("%d open pages, nothing happens", openPages), "% of a core", max(idle, 0.01)).Target = below(openIdle, "%", idle)

	m := &mix{process: ledge, bodies: [2][]byte{make([]byte, 10_000)}}
	rows, err := compare(ctx, b.counts.pageRounds,
		func(ctx context.Context, _ int) (measured, error) {
			done, err := openAll(ctx, ledge.console, cookie)
			if err != nil {
				return measured{}, err
			}
			defer done()
			return m.postAlone(ctx, b.counts.limit)
		},
		func(ctx context.Context, _ int) (measured, error) { return m.postAlone(ctx, b.counts.limit) })
	if err != nil {
		return err
	}
	one := b.report.add(rows[0].against(rows[1], fmt.Sprintf("posts of 10 KB beside %d open pages, and without them", openPages)))
	one.Target = atLeast(openPostRatio, one.Ratio)
	longest, err := m.timeValues(ctx, cookie)
	if err != nil {
		return err
	}
	ms := float64(longest.Microseconds()) / 1000
	b.single(fmt.Sprintf("longest time from a post to a page with its value, beside %d open pages and posts", openPages), "ms", ms).Target = below(openDelay, "ms", ms)
	return nil
}

// timeValues posts values beside open pages and a client that posts without a pause. It returns the longest time until a page has loaded
// the value.
func (m *mix) timeValues(ctx context.Context, cookie string) (longest time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	done, err := openAll(ctx, m.console, cookie)
	if err != nil {
		return 0, err
	}
	defer done()
	background := make(chan error, 1)
	posting, stop := context.WithCancel(ctx)
	go func() {
		_, err := m.postAlone(posting, time.Minute)
		background <- err
	}()
	defer func() {
		stop()
		if e := <-background; e != nil && posting.Err() == nil {
			err = e
		}
	}()
	list, closed, err := m.clients(ctx, m.data, 1)
	if err != nil {
		return 0, err
	}
	defer closed()
	const path = "/readings?device=bench-live"
	own := newTab(m.console, cookie)
	defer own.CloseIdleConnections()
	live, err := own.open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer live.Close()
	messages := bufio.NewScanner(live)
	for i := range openValues {
		value := strconv.Itoa(1_000_000 + i)
		started := time.Now()
		event := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"bench-live","profileName":"bench","sourceName":"value",
			"origin":%[2]d,"readings":[{"id":%[3]q,"origin":%[2]d,"deviceName":"bench-live","resourceName":"value","profileName":"bench","valueType":"Int64","value":%[4]q}]}}`,
			newID(), started.UnixNano(), newID(), value)
		if _, err := list[0].call(httpRequest(http.MethodPost, eventPath+"/bench/bench-live/value", []byte(event)), http.StatusCreated); err != nil {
			return 0, err
		}
		for shown := false; !shown; {
			if !messages.Scan() {
				return 0, fmt.Errorf("the page is not told of a value: %w", cmp.Or(messages.Err(), io.ErrUnexpectedEOF))
			}
			if !strings.HasPrefix(messages.Text(), "data: ") {
				continue
			}
			page, err := own.get(ctx, path)
			if err != nil {
				return 0, err
			}
			text, err := io.ReadAll(page.Body)
			page.Body.Close()
			if err != nil {
				return 0, err
			}
			shown = bytes.Contains(text, []byte(value))
		}
		longest = max(longest, time.Since(started))
	}
	return longest, nil
}

// postAlone has one client post.
func (m *mix) postAlone(ctx context.Context, limit time.Duration) (measured, error) {
	list, done, err := m.clients(ctx, m.deviceREST, 1)
	if err != nil {
		return measured{}, err
	}
	defer done()
	w := work{workers: 1, count: 1 << 30, each: 1, limit: limit}
	w.do = func(int, int) error { return m.post(list[0], m.bodies[0]) }
	return w.run(ctx)
}

// openAll opens pages of the console. done closes them.
func openAll(ctx context.Context, console, cookie string) (done func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	b := newTab(console, cookie)
	var open sync.WaitGroup
	done = func() { cancel(); open.Wait(); b.CloseIdleConnections() }
	pages := []string{"/", "/devices", "/readings", "/ledger?log=readings"}
	for i := range openPages {
		path := pages[i%len(pages)]
		live, err := b.open(ctx, path)
		if err != nil {
			done()
			return nil, fmt.Errorf("page %d, %s: %w", i+1, path, err)
		}
		load := func() {
			if page, err := b.get(ctx, path); err == nil {
				_, _ = io.Copy(io.Discard, page.Body) // the end of the context ends both
				page.Body.Close()
			}
		}
		open.Go(func() { browse(live, load) })
		if path == "/" {
			open.Go(func() { each(ctx, 5*time.Second, load) })
		}
	}
	select {
	case <-time.After(2 * time.Second): // each has loaded what it was told first
	case <-ctx.Done():
	}
	return done, nil
}

// tab gets pages of the console, as a page does that loads itself anew.
type tab struct {
	http.Client
	console, cookie string
}

func newTab(console, cookie string) *tab {
	return &tab{http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: openPages}}, console, cookie}
}

func (b *tab) get(ctx context.Context, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.console+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Cookie", b.cookie)
	r.Header.Set("X-Live", "1")
	return b.Do(r)
}

// open loads a page, and returns the live stream of a browser that shows it.
func (b *tab) open(ctx context.Context, path string) (io.ReadCloser, error) {
	page, err := b.get(ctx, path)
	if err != nil {
		return nil, err
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	if err != nil {
		return nil, err
	}
	topics := liveTopics.FindSubmatch(text)
	if topics == nil {
		return nil, fmt.Errorf("%s, without a live part", page.Status)
	}
	live, err := b.get(ctx, "/live")
	if err != nil {
		return nil, err
	}
	if err := b.choose(ctx, live, html.UnescapeString(string(topics[1]))); err != nil {
		live.Body.Close()
		return nil, fmt.Errorf("live stream of %s: %w", path, err)
	}
	return live.Body, nil
}

// choose reads the first event of a live stream, which names it, and sends its topics.
func (b *tab) choose(ctx context.Context, live *http.Response, topics string) error {
	var begin []byte
	for one := make([]byte, 1); !bytes.HasSuffix(begin, []byte("\n\n")); begin = append(begin, one...) { // the rest stays in live
		if _, err := live.Body.Read(one); err != nil {
			return fmt.Errorf("%s: %w", live.Status, err)
		}
	}
	_, data, _ := strings.Cut(string(begin), "data: ")
	named, err := url.ParseQuery(strings.TrimSpace(data))
	if err != nil {
		return err
	}
	body := strings.NewReader(topics + "&stream=" + named.Get("stream"))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.console+"/live", body)
	if err != nil {
		return err
	}
	r.Header.Set("Cookie", b.cookie)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := b.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("topics %s: %s %s", topics, answer.Status, text)
	}
	return err
}

var liveTopics = regexp.MustCompile(`data-live="([^"]*)"`)

// browse loads a page again when its live connection tells of something, as the browser does.
func browse(live io.ReadCloser, load func()) {
	defer live.Close()
	for lines := bufio.NewScanner(live); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			load()
		}
	}
}

// each loads a page again and again, as the overview does.
func each(ctx context.Context, pause time.Duration, load func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			load()
		case <-ctx.Done():
			return
		}
	}
}
