package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// bodyPath is the resource that bodies are posted to, on both sides.
const bodyPath = "/api/v2/resource/sample-image/jpeg"

// mostBodyBytes bounds what one measurement writes: there are no more clients than that has room for. What they leave is
// removed before the next.
const mostBodyBytes int64 = 2_400_000_000

const (
	bodyTarget     = 0.7
	bodyTargetFrom = 1_000_000 // bytes
	residentTarget = 150       // MB
)

// postBodies compares bodies that are posted to the real binary, each other than all before it, with a handler that writes
// them to files and syncs those.
func postBodies(ctx context.Context, b *bench) error {
	for _, size := range b.counts.bodies {
		if err := b.bodiesOf(ctx, size); err != nil {
			return fmt.Errorf("%s: %w", sizeName(size), err)
		}
	}
	return nil
}

func sizeName(bytes int) string {
	if bytes >= 1_000_000 {
		return fmt.Sprintf("%d MB", bytes/1_000_000)
	}
	return fmt.Sprintf("%d KB", bytes/1000)
}

// bodySides are the servers for bodies of one size.
type bodySides struct {
	*bench
	servers [2]*process // Ledge, bare
	folders [2]string   // where their files are
	body    []byte      // shared by all clients, but for its first bytes
	next    uint64      // of which no other body begins with
}

func (b *bench) bodiesOf(ctx context.Context, size int) error {
	servers, dir, stop, err := b.startBoth(ctx, "bodies")
	if err != nil {
		return err
	}
	defer stop()
	s := &bodySides{
		bench: b, servers: servers, folders: [2]string{filepath.Join(dir, "payloads"), filepath.Join(dir, bareBodies)},
		body: make([]byte, size),
	}
	for _, n := range []int{1, 8, 64} {
		n = min(n, int(mostBodyBytes/int64(size)))
		rows, err := compare(ctx, b.counts.bodyRounds, s.side(0, n), s.side(1, n))
		if err != nil {
			return err
		}
		one := rows[0].against(rows[1], sizeName(size)+", "+plural(n, "client"))
		one.Unit = "MB/s"
		if size >= bodyTargetFrom {
			one.Target = atLeast(bodyTarget, one.Ratio)
		}
		b.report.add(one)
	}
	if m, ok := memoryOf(servers[0].cmd.Process.Pid); ok {
		b.report.add(row{
			Name: sizeName(size) + ", most resident", Unit: "MB", Ledge: figure{Value: m.peak}, Spread: series{m.peak}.span(),
			Target: below(residentTarget, "MB", m.peak),
		})
	}
	return nil
}

// side measures one of the servers in MB/s. Each client posts one body at least, so that a measurement can take longer than
// its limit.
func (s *bodySides) side(which, n int) side {
	return func(ctx context.Context, _ int) (measured, error) {
		defer s.clear(which)
		list, done, err := clients(ctx, s.servers[which].deviceREST, n)
		if err != nil {
			return measured{}, err
		}
		defer done()
		size := len(s.body)
		started, first := time.Now(), s.next
		most := min(max(int(mostBodyBytes/int64(size)), n), s.counts.posts)
		s.next += uint64(most)
		before := s.servers[which].cpu()
		w := work{workers: n, count: max(most, n), each: 1, limit: s.counts.limit, do: func(worker, i int) error {
			head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n", bodyPath, size)
			return list[worker].post(binary.BigEndian.AppendUint64(head, first+uint64(i)), s.body[8:])
		}}
		m, err := w.run(ctx)
		m.rate = float64(m.done) * float64(size) / 1e6 / time.Since(started).Seconds()
		m.cpu = s.servers[which].cpu() - before
		return m, err
	}
}

// clear removes the files of a server behind its back.
func (s *bodySides) clear(which int) {
	files, err := os.ReadDir(s.folders[which])
	for _, f := range files {
		err = errors.Join(err, os.Remove(filepath.Join(s.folders[which], f.Name())))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}
