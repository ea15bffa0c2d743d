package main

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	openPages     = 50
	openIdle      = 5  // percent of a core, when nothing happens
	openPostRatio = .9 // of the posts without open pages
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
	return nil
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
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: openPages}}
	var open sync.WaitGroup
	done = func() { cancel(); open.Wait(); client.CloseIdleConnections() }
	get := func(path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+console+path, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Cookie", cookie)
		r.Header.Set("X-Live", "1")
		return client.Do(r)
	}
	pages := []string{"/", "/devices", "/readings", "/ledger?log=readings"}
	for i := range openPages {
		path := pages[i%len(pages)]
		live, err := openPage(get, path)
		if err != nil {
			done()
			return nil, fmt.Errorf("page %d, %s: %w", i+1, path, err)
		}
		load := func() {
			if page, err := get(path); err == nil {
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

// openPage loads a page, and returns the live connection that it asks for.
func openPage(get func(path string) (*http.Response, error), path string) (io.ReadCloser, error) {
	page, err := get(path)
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
	live, err := get("/live?" + html.UnescapeString(string(topics[1])))
	if err == nil && live.StatusCode != http.StatusOK {
		live.Body.Close()
		err = fmt.Errorf("live connection: %s", live.Status)
	}
	if err != nil {
		return nil, err
	}
	return live.Body, nil
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
