package main

import (
	"context"
	"fmt"
	"time"
)

const (
	readyTarget  = 0.2 // seconds
	memoryTarget = 40  // MB, with memoryDevices
)

const memoryDevices = 10_000

// startUp starts the real binary on folders of several sizes, several times, and reads its memory when it is idle.
func startUp(ctx context.Context, b *bench) error {
	for _, n := range b.counts.devices {
		if err := b.startWith(ctx, n); err != nil {
			return fmt.Errorf("%d devices: %w", n, err)
		}
	}
	return nil
}

func (b *bench) startWith(ctx context.Context, devices int) error {
	dir, done, err := b.folder("startup")
	if err != nil {
		return err
	}
	defer done()
	s := &starts{bench: b, devices: devices, dir: dir}
	if devices > 0 {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	clean, err := s.times(ctx, s.counts.starts, (*process).stop)
	if err != nil {
		return err
	}
	s.add("ready", "s", clean).Target = below(readyTarget, "s", clean.median())
	if err := s.memory(ctx); err != nil || devices == 0 {
		return err
	}
	crashed, err := s.times(ctx, max(s.counts.starts/2, 1), (*process).kill)
	if err == nil {
		s.add("ready after kill -9", "s", crashed)
	}
	return err
}

// starts is a folder that is started again and again. An empty one is a new one each time.
type starts struct {
	*bench
	devices int
	dir     string
	labels  []string // that the devices have beside their own
}

// prepare fills the folder and starts once, for the samples.
func (s *starts) prepare(ctx context.Context) error {
	if err := fill(ctx, s.dir, s.devices, s.labels...); err != nil {
		return err
	}
	if err := notify(ctx, s.dir); err != nil {
		return err
	}
	_, err := s.times(ctx, 1, (*process).stop)
	return err
}

// times starts several times, lets end end each, and returns the seconds to the ready lines.
func (s *starts) times(ctx context.Context, n int, end func(*process)) (took series, err error) {
	for range n {
		one, err := s.once(ctx, end)
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	return took, nil
}

func (s *starts) once(ctx context.Context, end func(*process)) (float64, error) {
	dir, done := s.dir, func() {}
	if s.devices == 0 {
		var err error
		if dir, done, err = s.folder("startup"); err != nil {
			return 0, err
		}
	}
	defer done()
	p, err := s.startLedge(ctx, dir)
	if err != nil {
		return 0, err
	}
	end(p)
	return p.took.Seconds(), nil
}

func (s *starts) add(what, unit string, values series) *row {
	return s.report.add(row{
		Name: fmt.Sprintf("%s, %s devices", what, whole(float64(s.devices))), Unit: unit,
		Ledge: figure{Value: values.median()}, Spread: values.span(),
	})
}

// memory reads what the process takes after it was left alone, and kills it.
func (s *starts) memory(ctx context.Context) error {
	p, err := s.startLedge(ctx, s.dir)
	if err != nil {
		return err
	}
	defer p.kill()
	select {
	case <-time.After(s.counts.idle):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m, ok := memoryOf(p.cmd.Process.Pid)
	if !ok {
		return nil
	}
	resident := s.add("resident when idle", "MB", series{m.resident})
	if s.devices == memoryDevices {
		resident.Target = below(memoryTarget, "MB", m.resident)
	}
	s.add("of which its own, not of files", "MB", series{m.anonymous})
	return nil
}
