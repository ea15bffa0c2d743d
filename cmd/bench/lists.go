package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	pageLength  = 20
	pageClients = 8
	pageTarget  = 20 // ms at the 99th percentile
	growTarget  = 16 // MB
)

// secondLabel is one that all devices of this section have, as they have "camera".
const secondLabel = "outdoor"

// listPages asks the real binary, with the most devices that there are counts for, for pages at the beginning, in the
// middle and at the end of its lists.
func listPages(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("lists")
	if err != nil {
		return err
	}
	defer done()
	s := &starts{bench: b, devices: slices.Max(b.counts.devices), dir: dir, labels: []string{secondLabel}}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	p := &pages{b, ledge, ledge.metadata, "devices", `"serviceName":`}
	if err := p.measureAll(ctx, deviceLists); err != nil {
		return err
	}
	return p.whilePatched(ctx)
}

// pages is a running server that is asked for them.
type pages struct {
	*bench
	ledge   *process
	address string // of the service
	of, has string // what the lists are of, and what is in each page
}

// list is a path with a list, to which the page is added.
type list struct{ name, path string }

var (
	allDevices  = list{"all", devicePath + "/all?"}
	twoLabels   = list{"with two labels of all", devicePath + "/all?labels=camera," + secondLabel + "&"}
	deviceLists = []list{
		allDevices,
		{"with a label of all", devicePath + "/all?labels=camera&"},
		{"with a label of one in 100", devicePath + "/all?labels=site-7&"},
		{"with both of these labels", devicePath + "/all?labels=camera,site-7&"},
		twoLabels,
		{"of a profile", devicePath + "/profile/name/" + profileName + "?"},
		{"of a service", devicePath + "/service/name/" + serviceName + "?"},
	}
)

func (l list) page(offset int) []byte {
	return httpRequest(http.MethodGet, fmt.Sprintf("%soffset=%d&limit=%d", l.path, offset, pageLength), nil)
}

// measureAll adds a row for each of three pages of each list, and the memory before and after them, right after a load.
func (p *pages) measureAll(ctx context.Context, lists []list) error {
	if err := p.rest(ctx); err != nil {
		return err
	}
	for _, l := range lists {
		if _, err := p.run(ctx, l, 0); err != nil {
			return err
		}
	}
	before, known := memoryOf(p.ledge.cmd.Process.Pid)
	for _, l := range lists {
		total, err := p.total(ctx, l)
		if err != nil {
			return err
		}
		end := max(total-pageLength, 0)
		for i, offset := range []int{0, end / 2, end} {
			name := fmt.Sprintf("%s %s, %s page of %s", p.of, l.name, [...]string{"first", "middle", "last"}[i], whole(float64(total)))
			one, err := p.measure(ctx, name, l, offset)
			if err != nil {
				return err
			}
			if offset == 0 || offset == end {
				one.Target = below(pageTarget, "ms p99", one.Ledge.P99)
			}
		}
	}
	if after, ok := memoryOf(p.ledge.cmd.Process.Pid); known && ok {
		p.memory(before, after)
	}
	return nil
}

// rest waits until what the start does behind the ready line is over, and its memory given back.
func (p *pages) rest(ctx context.Context) error {
	if err := p.ledge.awaitIdle(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(p.counts.idle):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// whilePatched measures first pages while the state changes all the time.
func (p *pages) whilePatched(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	patching, done, err := clients(ctx, p.ledge.metadata, 1)
	if err != nil {
		stop()
		return err
	}
	defer done()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var failed error
	running.Go(func() {
		for ctx.Err() == nil && failed == nil {
			_, failed = patching[0].call(patchRequest(0), http.StatusMultiStatus)
		}
	})
	for _, l := range []list{allDevices, twoLabels} {
		if _, err := p.measure(ctx, "devices "+l.name+", first page, while 1 client patches", l, 0); err != nil {
			return errors.Join(err, failed)
		}
	}
	return nil
}

// measure adds the row of a page. Its p99 is the median of those of the rounds: what disturbs one does not decide.
func (p *pages) measure(ctx context.Context, name string, l list, offset int) (*row, error) {
	rows, err := compare(ctx, p.counts.pageRounds, func(ctx context.Context, _ int) (measured, error) { return p.run(ctx, l, offset) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	one := p.report.add(rows[0].alone(name))
	one.Ledge.P99 = rows[0].tails.median()
	return one, nil
}

// total asks how many entries a list has.
func (p *pages) total(ctx context.Context, l list) (int, error) {
	list, done, err := clients(ctx, p.address, 1)
	if err != nil {
		return 0, err
	}
	defer done()
	body, err := list[0].call(l.page(0), http.StatusOK)
	if err != nil {
		return 0, err
	}
	var answer struct{ TotalCount int }
	err = json.Unmarshal(body, &answer)
	return answer.TotalCount, err
}

// run has all clients ask for one page, again and again.
func (p *pages) run(ctx context.Context, l list, offset int) (measured, error) {
	list, done, err := clients(ctx, p.address, pageClients)
	if err != nil {
		return measured{}, err
	}
	defer done()
	request := l.page(offset)
	w := work{workers: pageClients, count: p.counts.pages, each: 1, limit: p.counts.limit}
	w.do = func(worker, _ int) error {
		body, err := list[worker].call(request, http.StatusOK)
		if err == nil && !bytes.Contains(body, []byte(p.has)) {
			err = fmt.Errorf("answered %s", body)
		}
		return err
	}
	before := p.ledge.cpu()
	m, err := w.run(ctx)
	m.cpu = p.ledge.cpu() - before
	return m, err
}

func (p *pages) memory(before, after memory) {
	p.single("resident before these pages", "MB", before.resident)
	p.single("resident after these pages", "MB", after.resident)
	p.single("of which its own, not of files, before", "MB", before.anonymous)
	p.single("of which its own, not of files, after", "MB", after.anonymous).Target = below(growTarget, "MB more", after.anonymous-before.anonymous)
}
