package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
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
	pages := []struct{ path, topics string }{
		{"/", "devices=&readings=&ledger="}, {"/devices", "devices="}, {"/readings", "readings="}, {"/ledger?log=readings", "ledger="},
	}
	for i := range openPages {
		page := pages[i%len(pages)]
		answer, err := get("/live?" + page.topics)
		if err == nil && answer.StatusCode != http.StatusOK {
			answer.Body.Close()
			err = fmt.Errorf("live connection %d: %s", i+1, answer.Status)
		}
		if err != nil {
			done()
			return nil, err
		}
		open.Go(func() { browse(answer.Body, func() (*http.Response, error) { return get(page.path) }) })
	}
	select {
	case <-time.After(2 * time.Second): // each has loaded what it was told first
	case <-ctx.Done():
	}
	return done, nil
}

// browse loads a page again when its live connection tells of something, at most once a second, as the browser does.
func browse(live io.ReadCloser, load func() (*http.Response, error)) {
	defer live.Close()
	last := time.Time{}
	for lines := bufio.NewScanner(live); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "data: ") || time.Since(last) < time.Second {
			continue
		}
		last = time.Now()
		if page, err := load(); err == nil {
			_, _ = io.Copy(io.Discard, page.Body) // the end of the context ends both
			page.Body.Close()
		}
	}
}
