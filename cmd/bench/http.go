package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
)

// known is how many devices there are to GET.
const known = 1000

// arrayLength is how many devices an array adds.
const arrayLength = 100

// serveHTTP compares the real binary with the bare server, each a process of its own, with the same clients.
func serveHTTP(ctx context.Context, b *bench) error {
	servers, _, stop, err := b.startBoth(ctx, "http")
	if err != nil {
		return err
	}
	defer stop()
	h := &httpSides{b, servers, known}
	if err := h.addKnown(ctx); err != nil {
		return err
	}
	for _, l := range h.loads() {
		if err := h.compare(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// compare adds the row of a load: the first server against the second.
func (h *httpSides) compare(ctx context.Context, l load) error {
	rows, err := compare(ctx, h.counts.rounds, h.side(0, l), h.side(1, l))
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	one := rows[0].against(rows[1], l.name)
	if l.target > 0 {
		one.Target = atLeast(l.target, one.Ratio)
	}
	h.report.add(one)
	return nil
}

type httpSides struct {
	*bench
	servers [2]*process // the one that is measured, and the one beside it
	next    int         // number of the next device, on either side
}

// load is what some clients ask for.
type load struct {
	name     string
	clients  int
	count    int
	each     int // devices of one request
	target   float64
	requests func(n int) [][]byte
	status   int
	expect   string // in each answer, once for each device
}

func (h *httpSides) loads() []load {
	one, many, arrays := h.counts.ofClients(1), h.counts.requests, h.counts.arrays
	after := h.gets(8, 2*many, 0)
	after.name = "GET a device by name, 8 clients, after all of these"
	return []load{
		h.gets(1, 2*one, 0.7),
		h.gets(8, 2*many, 0.7),
		h.gets(32, 2*many, 0.7),
		h.adds(1, one, 1, 0.5),
		h.adds(8, many, 1, 0.5),
		h.adds(32, many, 1, 0.5),
		h.adds(1, arrays, arrayLength, 0.25),
		h.adds(8, arrays, arrayLength, 0.25),
		after,
	}
}

func (h *httpSides) adds(clients, count, each int, target float64) load {
	what := "add a device"
	if each > 1 {
		what = fmt.Sprintf("devices in arrays of %d", each)
	}
	return load{
		what + ", " + plural(clients, "client"), clients, count, each, target,
		func(n int) [][]byte { return h.posts(n, each) }, http.StatusMultiStatus, `"statusCode":201`,
	}
}

func (h *httpSides) gets(clients, count int, target float64) load {
	return load{"GET a device by name, " + plural(clients, "client"), clients, count, 1, target, gets, http.StatusOK, `"device":{`}
}

// posts are requests that add devices which are not there yet.
func (h *httpSides) posts(n, each int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = httpRequest(http.MethodPost, devicePath, deviceBody(h.next, each))
		h.next += each
	}
	return list
}

// gets are requests for the known devices, in no order that helps.
func gets(n int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = httpRequest(http.MethodGet, deviceByName+deviceName(i*7919%known), nil)
	}
	return list
}

func (h *httpSides) addKnown(ctx context.Context) error {
	for _, server := range h.servers {
		list, done, err := server.clients(ctx, server.metadata, 1)
		if err != nil {
			return err
		}
		add := server.authorized([][]byte{httpRequest(http.MethodPost, devicePath, deviceBody(0, known))})
		_, err = list[0].call(add[0], http.StatusMultiStatus)
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

// side is a load on one of the servers; the requests are made before the clock starts.
func (h *httpSides) side(which int, l load) side {
	return func(ctx context.Context, _ int) (measured, error) {
		list, done, err := h.servers[which].clients(ctx, h.servers[which].metadata, l.clients)
		if err != nil {
			return measured{}, err
		}
		defer done()
		requests := h.servers[which].authorized(l.requests(l.count))
		w := work{workers: l.clients, count: l.count, each: l.each, limit: h.counts.limit}
		w.do = func(worker, i int) error {
			body, err := list[worker].call(requests[i], l.status)
			if err == nil && bytes.Count(body, []byte(l.expect)) != l.each {
				err = fmt.Errorf("answered %s", body)
			}
			return err
		}
		before := h.servers[which].cpu()
		m, err := w.run(ctx)
		if err == nil {
			err = h.servers[which].awaitIdle(ctx)
		}
		m.cpu = h.servers[which].cpu() - before
		return m, err
	}
}
