package projections

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ledge/domain"
)

// benchDB opens a file without the comparison at the end, which would take longer than what is measured.
func benchDB(b *testing.B) *DB {
	b.Helper()
	d, err := Open(Options{Path: filepath.Join(b.TempDir(), "state.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	return d
}

var hundredThousand = sync.OnceValue(func() []domain.Recorded { return cameras(100_000) })

// full returns a file with 100,000 devices.
func full(b *testing.B) *DB {
	b.Helper()
	d := benchDB(b)
	for batch := range slices.Chunk(hundredThousand(), 5000) {
		if err := d.Apply(batch); err != nil {
			b.Fatal(err)
		}
	}
	return d
}

func BenchmarkApply1(b *testing.B) {
	d := full(b)
	more := make([]domain.Recorded, b.N)
	for i := range more {
		more[i] = recorded(uint64(100_001+i), domain.DeviceAdded{Device: camera(100_000 + i)})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i == len(more) {
			more = append(more, recorded(uint64(100_001+i), domain.DeviceAdded{Device: camera(100_000 + i)}))
		}
		if err := d.Apply(more[i : i+1]); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkApply applies events in batches, after those of before, and reports how fast, and how large the file is then.
func benchmarkApply(b *testing.B, tables Tables, batch int, before, events []domain.Recorded) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		path := filepath.Join(b.TempDir(), "state.db")
		d, err := Open(Options{Path: path, Tables: tables, limits: direct})
		if err != nil {
			b.Fatal(err)
		}
		applyAll(b, d, 5000, before)
		b.StartTimer()
		applyAll(b, d, batch, events)
		if err := flush(d); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric(float64(sizeOf(b, path))/float64(len(events)), "bytes/event")
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(len(events)*b.N)/b.Elapsed().Seconds(), "events/s")
}

func sizeOf(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

func applyAll(b *testing.B, d *DB, batch int, events []domain.Recorded) {
	b.Helper()
	for some := range slices.Chunk(events, batch) {
		if err := d.Apply(some); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApply5000(b *testing.B) { benchmarkApply(b, Events, 5000, nil, hundredThousand()) }
func BenchmarkApply1000(b *testing.B) { benchmarkApply(b, Events, 1000, nil, hundredThousand()) }

// benchmarkPatches changes each of 100,000 devices once, so that all of its index entries move to the end.
func benchmarkPatches(b *testing.B, batch int, nth func(int) int) {
	const n = 100_000
	events := make([]domain.Recorded, n)
	for i := range events {
		d := camera(nth(i))
		d.AdminState, d.Modified = domain.StateLocked, camera(n+i).Modified
		events[i] = recorded(uint64(n+1+i), domain.DeviceUpdated{Device: d, Changed: []string{"adminState"}})
	}
	benchmarkApply(b, Events, batch, hundredThousand(), events)
}

// In the order in which they were added, and in no order.
func BenchmarkPatches1000(b *testing.B) { benchmarkPatches(b, 1000, func(i int) int { return i }) }
func BenchmarkPatchesInNoOrder1000(b *testing.B) {
	benchmarkPatches(b, 1000, func(i int) int { return i * 70_001 % 100_000 })
}

// benchmarkRaised raises 100,000 notifications, by ten device changes an event.
func benchmarkRaised(b *testing.B, batch int) {
	const n, each = 100_000, 10
	events := make([]domain.Recorded, n/each)
	for i := range events {
		var e domain.NotificationsRaised
		for j := range each {
			at := i*each + j
			e.Raised = append(e.Raised, domain.Raised{Notification: domain.Notification{
				ID: uuid("raised", at), Category: "DEVICE_CHANGED", Labels: []string{fmt.Sprintf("site-%d", at%100)},
				Content: `{"deviceName":"` + camera(at).Name + `"}`, ContentType: "application/json", Sender: "core-metadata",
				Severity: "NORMAL", Status: domain.StatusProcessed, Cause: uint64(at + 1), Matched: []string{"watch"},
				Created: 1_700_000_000_000 + int64(at), Modified: 1_700_000_000_000 + int64(at),
			}})
		}
		events[i] = recorded(uint64(i+1), e)
	}
	benchmarkApply(b, Notifications, batch, nil, events)
}

func BenchmarkRaised500(b *testing.B) { benchmarkRaised(b, 500) }
func BenchmarkRaised100(b *testing.B) { benchmarkRaised(b, 100) }

func BenchmarkGetDevice(b *testing.B) {
	d := full(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s, release := d.State()
		if _, ok := s.Devices.Get(camera(i * 7919 % 100_000).Name); !ok {
			b.Fatal("not found")
		}
		release()
	}
}

func benchmarkList(b *testing.B, p Page, filters ...Filter) {
	d := full(b)
	b.ReportAllocs()
	for b.Loop() {
		v, release := d.View()
		list, _, err := v.Devices(p, filters...)
		release()
		if err != nil || len(list) != p.Limit {
			b.Fatal(len(list), err)
		}
	}
}

func BenchmarkListFirst(b *testing.B)  { benchmarkList(b, Page{Offset: 0, Limit: 20}) }
func BenchmarkListLast(b *testing.B)   { benchmarkList(b, Page{Offset: 99_980, Limit: 20}) }
func BenchmarkListMiddle(b *testing.B) { benchmarkList(b, Page{Offset: 50_000, Limit: 20}) }
func BenchmarkListLabel(b *testing.B) {
	benchmarkList(b, Page{Offset: 80_000, Limit: 20}, Label("camera"))
}

func BenchmarkListTwoLabels(b *testing.B) {
	benchmarkList(b, Page{Offset: 0, Limit: 20}, Label("camera"), Label("site-7"))
}

func BenchmarkListLabelAndService(b *testing.B) {
	benchmarkList(b, Page{Offset: 0, Limit: 20}, Label("camera"), ByService(domain.DeviceREST))
}

// BenchmarkListAfterChange lists devices right after each change: it waits for the flush.
func BenchmarkListAfterChange(b *testing.B) {
	d := full(b)
	var took []time.Duration
	for seq := uint64(100_001); b.Loop(); seq++ {
		if err := d.Apply(record(seq, domain.DeviceUpdated{Device: camera(int(seq*7919) % 100_000)})); err != nil {
			b.Fatal(err)
		}
		started := time.Now()
		v, release := d.View()
		_, total, err := v.Devices(Page{Limit: 20})
		release()
		if took = append(took, time.Since(started)); err != nil || total != 100_000 {
			b.Fatal(total, err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkListTotal finds out how many devices pass two filters, as for the first page after a change.
func BenchmarkListTotal(b *testing.B) {
	d := full(b)
	for b.Loop() {
		v, release := d.View()
		_, total, err := v.Devices(Page{Limit: 20}, Label("camera"), ByService(domain.DeviceREST))
		release()
		if err != nil || total != 100_000 {
			b.Fatal(total, err)
		}
	}
}

// sensor is the post of one of 500 resources, of 100 devices, at ten posts per second; its ids are in order.
func sensor(n int) domain.Recorded {
	r := domain.Reading{
		ID: ordered(2 * n), Event: ordered(2*n + 1), Profile: "climate-sensor", Device: fmt.Sprintf("sensor-%03d", n%100),
		Resource: []string{"Temperature", "Humidity", "Pressure", "Battery", "Voltage"}[n/100%5], ValueType: "Float32",
		MediaType: "text/plain", Size: 5, Origin: 1_700_000_000_000_000_000 + int64(n)*1e8 + int64(n%7), Text: "2.150000e+01",
	}
	return recorded(uint64(n+1), domain.ReadingPosted{Reading: r, Value: []byte("21.50")})
}

// ordered is the nth of UUIDs of version 7 as they are made one after the other.
func ordered(n int) string {
	random := uuid("ordered", n)
	return fmt.Sprintf("018bcfe5-%04x-7%03x%s", n>>12&0xffff, n&0xfff, random[18:])
}

// benchmarkReadings projects so many readings at once, and reports how fast and how large they are.
func benchmarkReadings(b *testing.B, batch int) {
	const n = 200_000
	events := make([]domain.Recorded, n)
	for i := range events {
		events[i] = sensor(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "readings.db")
		d, err := Open(Options{Path: path, Tables: Readings})
		if err != nil {
			b.Fatal(err)
		}
		for some := range slices.Chunk(events, batch) {
			if err := d.Apply(some); err != nil {
				b.Fatal(err)
			}
		}
		if err := flush(d); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(sizeOf(b, path))/n, "bytes/reading")
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "readings/s")
}

func BenchmarkReadings1(b *testing.B)    { benchmarkReadings(b, 1) }
func BenchmarkReadings5000(b *testing.B) { benchmarkReadings(b, 5000) }
