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
	s := &starts{bench: b, devices: devices}
	var done func()
	var err error
	if s.dir, done, err = b.folder("startup"); err != nil {
		return err
	}
	defer done()
	if devices > 0 {
		if err := fill(ctx, s.dir, devices); err != nil {
			return err
		}
		// Once before, for the samples.
		if _, err := s.once(ctx, (*process).stop); err != nil {
			return err
		}
	}
	var clean series
	for range b.counts.starts {
		took, err := s.once(ctx, (*process).stop)
		if err != nil {
			return err
		}
		clean = append(clean, took)
	}
	s.add("ready", clean).Target = below(readyTarget, "s", clean.median())
	if err := s.memory(ctx); err != nil {
		return err
	}
	return s.afterCrash(ctx)
}

// starts is a folder that is started again and again. An empty one is a new one each time.
type starts struct {
	*bench
	devices int
	dir     string
}

// once starts, lets end end it, and returns the seconds to the ready line.
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

func (s *starts) add(what string, values series) *row {
	unit := "s"
	if what != "ready" && what != "ready after kill -9" {
		unit = "MB"
	}
	s.report.add(row{
		Name: fmt.Sprintf("%s, %s devices", what, number(float64(s.devices))), Unit: unit,
		Ledge: figure{Value: values.median()}, Spread: values.span(),
	})
	return &s.report.Rows[len(s.report.Rows)-1]
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
	m, err := memoryOf(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	resident := s.add("resident when idle", series{m.resident})
	if s.devices == memoryDevices {
		resident.Target = below(memoryTarget, "MB", m.resident)
	}
	s.add("of which its own, not of files", series{m.anonymous})
	return nil
}

// afterCrash measures the start that verifies more, because nothing says that the last stop was clean.
func (s *starts) afterCrash(ctx context.Context) error {
	if s.devices == 0 {
		return nil
	}
	var crashed series
	for range max(s.counts.starts/2, 1) {
		took, err := s.once(ctx, (*process).kill)
		if err != nil {
			return err
		}
		crashed = append(crashed, took)
	}
	s.add("ready after kill -9", crashed)
	return nil
}
