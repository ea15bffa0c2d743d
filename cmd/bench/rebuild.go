package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"ledge/projections"
	"ledge/store"
)

// readLimit bounds one pass over the log.
const readLimit = 20 * time.Second

// rebuildLog compares passes over a log of device events: by the store, raw and decoded; and into an empty projection,
// which is a rebuild; with nats.go reading a copy of the log, which is called bare here.
func rebuildLog(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("rebuild")
	if err != nil {
		return err
	}
	defer done()
	if err := fill(ctx, dir, b.counts.events); err != nil {
		return err
	}
	bare, doneBare, err := b.folder("bare")
	if err != nil {
		return err
	}
	defer doneBare()
	if err := copyLog(dir, bare); err != nil {
		return err
	}
	s, err := openStore(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	raw, err := openRawStream(ctx, bare, s.Events().Name())
	if err != nil {
		return err
	}
	defer raw.close()
	p := passes{s.Events(), raw, dir}
	rows, err := compare(ctx, b.counts.rebuildRound, pass(p.readBare), pass(p.readRaw), pass(p.read), pass(p.rebuild))
	if err != nil {
		return err
	}
	for i, name := range []string{"read from the block files, raw", "read, decoded, the chain verified", "rebuild of the projection"} {
		row := rows[i+1].against(rows[0], name)
		if i == 2 {
			row.Target = atLeast(0.35, row.Ratio)
		}
		b.report.add(row)
	}
	return nil
}

// pass is a side that goes over the log once; f returns how many events it met.
func pass(f func(context.Context) (int, error)) side {
	return func(ctx context.Context, _ int) (measured, error) {
		runtime.GC() // what the side before has left
		from := time.Now()
		n, err := f(ctx)
		return measured{rate: float64(n) / time.Since(from).Seconds()}, err
	}
}

type passes struct {
	log *store.Log
	raw *rawStream
	dir string
}

func (p *passes) readBare(ctx context.Context) (int, error) { return p.raw.read(ctx, readLimit) }

func (p *passes) readRaw(ctx context.Context) (n int, err error) {
	for _, err := range p.log.ReadRaw(ctx, 0, 0) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (p *passes) read(ctx context.Context) (n int, err error) {
	for _, err := range p.log.Read(ctx, 0, 0) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// rebuild returns when an appender has brought an empty projection to the end of the log, and all of it to the file.
func (p *passes) rebuild(ctx context.Context) (int, error) {
	state, done, err := emptyState(p.dir)
	if err != nil {
		return 0, err
	}
	defer done()
	a, err := store.NewAppender(ctx, p.log, state, store.AppenderOptions{})
	if err != nil {
		return 0, err
	}
	defer a.Close()
	last, _ := p.log.Last()
	if at, _ := state.Checkpoint(); at != last {
		return 0, fmt.Errorf("rebuilt to %d of %d", at, last)
	}
	v, release := state.View()
	defer release()
	_, _, err = v.Devices(projections.Page{Limit: 1}) // a list needs the file
	return int(last), err
}
