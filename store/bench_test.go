package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// discard is a projection that keeps only its checkpoint.
type discard struct {
	mu    sync.Mutex
	state domain.State
	seq   uint64
	chain [32]byte
}

func (d *discard) State() (domain.State, func()) { return d.state, func() {} }
func (d *discard) Apply(g []domain.Recorded) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq, d.chain = g[len(g)-1].Seq, g[len(g)-1].Chain
	return nil
}
func (d *discard) Checkpoint() (uint64, [32]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seq, d.chain
}

// BenchmarkAppend is one Submit of one event, each submitter waiting for its answer.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 8, 32, 128} {
		b.Run(fmt.Sprintf("submitters=%d", n), func(b *testing.B) {
			s := mustOpen(b, options(b.TempDir()))
			a := storetest.MustAppender(b, s.Events(), &discard{state: domain.NewMapState()})
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range n {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if o, err := a.Submit(context.Background(), storetest.Add(fmt.Sprint("s", i))); err != nil || o[0].Err != nil {
							b.Errorf("%+v, %v", o, err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkAppendGroup is one Submit of several events.
func BenchmarkAppendGroup(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("group=%d", n), func(b *testing.B) {
			s := mustOpen(b, options(b.TempDir()))
			a := storetest.MustAppender(b, s.Events(), &discard{state: domain.NewMapState()})
			i := 0
			for b.Loop() {
				storetest.MustAdd(b, a, fmt.Sprint("g", i), n)
				i++
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkRawAppend writes and syncs the bytes of the same groups to a plain file.
func BenchmarkRawAppend(b *testing.B) {
	const size = 900 // what one event of BenchmarkAppend takes on disk
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("group=%d", n), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			group := make([]byte, n*size)
			for b.Loop() {
				if _, err := f.Write(group); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkRead reads a log from its beginning.
func BenchmarkRead(b *testing.B) {
	s := mustOpen(b, options(b.TempDir()))
	a := storetest.MustAppender(b, s.Events(), &discard{state: domain.NewMapState()})
	const events = 50_000
	for i := range 50 {
		storetest.MustAdd(b, a, fmt.Sprint("g", i), events/50)
	}
	count := func(b *testing.B, read func() int) {
		for b.Loop() {
			if n := read(); n != events {
				b.Fatalf("read %d events", n)
			}
		}
		b.ReportMetric(float64(events*b.N)/b.Elapsed().Seconds(), "events/s")
	}
	b.Run("raw", func(b *testing.B) {
		count(b, func() (n int) {
			for _, err := range s.Events().ReadRaw(b.Context(), 0, 0) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			return n
		})
	})
	b.Run("decoded", func(b *testing.B) {
		count(b, func() (n int) {
			for _, err := range s.Events().Read(b.Context(), 0, 0) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			return n
		})
	})
}

// BenchmarkOpen opens a store of 100,000 events after a clean stop.
func BenchmarkOpen(b *testing.B) {
	o := options(b.TempDir())
	s := mustOpen(b, o)
	a := storetest.MustAppender(b, s.Events(), &discard{state: domain.NewMapState()})
	for i := range 100 {
		storetest.MustAdd(b, a, fmt.Sprint("g", i), 1000)
	}
	_ = a.Close()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := store.Open(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
