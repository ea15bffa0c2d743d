package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	mixedPeakTarget  = 120 // MB anonymous
	mixedAfterTarget = 60  // MB anonymous, after as long a rest as the load took
	sampleEvery      = 100 * time.Millisecond
)

// mixedClients are how many clients send at once, each number for a part of the time.
var mixedClients = []int{1, 8, 32}

// mixedLoad sends adds, arrays, GETs and bodies in turns, and reads the memory of the process meanwhile and afterwards.
func mixedLoad(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("mixed")
	if err != nil {
		return err
	}
	defer done()
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	m := &mix{process: ledge, bodies: [2][]byte{make([]byte, 10_000), make([]byte, 1_000_000)}}
	if err := m.addKnown(ctx); err != nil {
		return err
	}
	top := ledge.watchMemory()
	for _, n := range mixedClients {
		one, err := m.send(ctx, n, b.counts.mixed/time.Duration(len(mixedClients)))
		if err != nil {
			top()
			return err
		}
		var r results
		r.add(one)
		b.report.add(r.alone("all kinds in turns, " + plural(n, "client")))
	}
	most, ok := top()
	select {
	case <-time.After(b.counts.mixed):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !ok {
		return nil
	}
	b.single("most resident, with pages of files", "MB", most.resident)
	b.single("most anonymous", "MB", most.anonymous).Target = below(mixedPeakTarget, "MB", most.anonymous)
	after, _ := memoryOf(ledge.cmd.Process.Pid)
	b.single("resident after a rest", "MB", after.resident)
	b.single("anonymous after a rest", "MB", after.anonymous).Target = below(mixedAfterTarget, "MB", after.anonymous)
	return nil
}

// watchMemory reads the memory of the process until the returned function is called, which returns the most of each kind.
func (p *process) watchMemory() (stop func() (most memory, ok bool)) {
	var most memory
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			m, _ := memoryOf(p.cmd.Process.Pid)
			most.anonymous = max(most.anonymous, m.anonymous)
			most.resident = max(most.resident, m.peak)
		}
	}()
	return func() (memory, bool) {
		close(ended)
		<-stopped
		return most, most.resident > 0
	}
}

// mix is the mixed load of one process.
type mix struct {
	*process
	next   atomic.Int64 // number of the next device
	posted atomic.Uint64
	bodies [2][]byte // shared by all clients, but for their first bytes
}

// addKnown adds the devices that are asked for later.
func (m *mix) addKnown(ctx context.Context) error {
	list, done, err := m.clients(ctx, m.metadata, 1)
	if err != nil {
		return err
	}
	defer done()
	return m.add(list[0], known)
}

// send has n clients send requests of all kinds in turns for some time.
func (m *mix) send(ctx context.Context, n int, limit time.Duration) (measured, error) {
	metadata, done, err := m.clients(ctx, m.metadata, n)
	if err != nil {
		return measured{}, err
	}
	defer done()
	rest, done, err := m.clients(ctx, m.deviceREST, n)
	if err != nil {
		return measured{}, err
	}
	defer done()
	kinds := []func(worker int) error{
		func(worker int) error { return m.add(metadata[worker], 1) },
		func(worker int) error { return m.add(metadata[worker], arrayLength) },
		func(worker int) error {
			_, err := metadata[worker].call(gets(1)[0], http.StatusOK)
			return err
		},
		func(worker int) error { return m.post(rest[worker], m.bodies[0]) },
		func(worker int) error { return m.post(rest[worker], m.bodies[1]) },
	}
	w := work{workers: n, count: 1 << 30, each: 1, limit: limit}
	w.do = func(worker, i int) error { return kinds[i%len(kinds)](worker) }
	before := m.cpu()
	one, err := w.run(ctx)
	one.cpu = m.cpu() - before
	return one, err
}

// add adds some devices.
func (m *mix) add(c *connection, n int) error {
	first := int(m.next.Add(int64(n))) - n
	_, err := c.call(httpRequest(http.MethodPost, devicePath, deviceBody(first, n)), http.StatusMultiStatus)
	return err
}

// post posts a body that differs from all before it.
func (m *mix) post(c *connection, body []byte) error {
	head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n", bodyPath, len(body))
	return c.post(binary.BigEndian.AppendUint64(head, m.posted.Add(1)), body[8:])
}
