package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	consoleUser     = "bench"
	consolePassword = "a password for the bench"
	consoleClients  = 4
	consoleTarget   = 100 // ms at the 99th percentile
)

// consolePaths are pages of the console, with the filters that cost most.
var consolePaths = []string{
	"/", "/devices", "/devices?sort=name", "/devices?q=9", "/devices?q=no+such+device", "/devices?label=site-7", "/devices?state=LOCKED",
	"/readings", "/readings?device=" + sensorName(7), "/readings?view=images", "/profiles", "/services", "/watchers", "/subscriptions", "/notifications",
	"/notifications?severity=MINOR", "/notifications?text=no-such-text", "/ledger", "/ledger?name=no-such-device", "/ledger?log=readings&name=no-such-device",
	"/users", "/system",
}

// loadPages asks the console of the real binary for its pages, with the most devices and readings that there are counts for.
func loadPages(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("console")
	if err != nil {
		return err
	}
	defer done()
	s := &starts{bench: b, devices: slices.Max(b.counts.devices), dir: dir}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if _, err := addReadings(ctx, dir, b.counts.readings, sensorEvent); err != nil {
		return err
	}
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	cookie, err := b.consoleLogin(ctx, ledge, dir)
	if err != nil {
		return err
	}
	p := &pages{b, ledge, ledge.console, "page", "<h1"}
	if err := p.rest(ctx); err != nil {
		return err
	}
	for _, path := range consolePaths {
		l := list{path, path}
		rows, err := compare(ctx, b.counts.pageRounds, func(ctx context.Context, _ int) (measured, error) { return p.load(ctx, l, cookie) })
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		one := b.report.add(rows[0].alone("page " + path))
		one.Ledge.P99 = rows[0].tails.median()
		one.Target = below(consoleTarget, "ms p99", one.Ledge.P99)
	}
	return loadOpenPages(ctx, b, ledge, cookie)
}

// consoleLogin adds a user and returns the cookie of its session.
func (b *bench) consoleLogin(ctx context.Context, p *process, dir string) (cookie string, err error) {
	file := filepath.Join(dir, "bench-password")
	if err := os.WriteFile(file, []byte(consolePassword+"\n"), 0o600); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, b.ledge, "user", "add", consoleUser, "--role", "admin", "--password-file", file, "--data-dir", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("ledge user add: %w: %s", err, out)
	}
	form := url.Values{"username": {consoleUser}, "password": {consolePassword}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.console+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // for the message
	if resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) == 0 {
		return "", fmt.Errorf("login: %s: %.300s", resp.Status, text)
	}
	return resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value, nil
}

// load has some clients ask for one page of the console, again and again.
func (p *pages) load(ctx context.Context, l list, cookie string) (measured, error) {
	list, done, err := clients(ctx, p.address, consoleClients)
	if err != nil {
		return measured{}, err
	}
	defer done()
	request := bytes.Replace(httpRequest(http.MethodGet, l.path, nil), []byte("\r\n\r\n"), []byte("\r\nCookie: "+cookie+"\r\n\r\n"), 1)
	w := work{workers: consoleClients, count: p.counts.pages, each: 1, limit: p.counts.limit}
	w.do = func(worker, _ int) error {
		body, err := list[worker].call(request, http.StatusOK)
		if err == nil && !bytes.Contains(body, []byte(p.has)) {
			err = fmt.Errorf("answered %.300s", body)
		}
		return err
	}
	before := p.ledge.cpu()
	m, err := w.run(ctx)
	m.cpu = p.ledge.cpu() - before
	return m, err
}
