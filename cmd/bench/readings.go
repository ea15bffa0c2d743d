package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ledge/domain"
	"ledge/projections"
	"ledge/store"
)

const (
	sensors         = 100
	readingsOfEvent = 10
	betweenEvents   = 100 * time.Millisecond // of any sensors
	projectTarget   = 15_000                 // readings a second
	readingPath     = "/api/v2/reading"
	eventPath       = "/api/v2/event"

	// The readings of one resource, for aggregates.
	meterName, meterResource = "meter-1", "Power"
	betweenReadings          = 100 * time.Millisecond
	aggregateTarget          = 100 // ms at the median, for a million values
	aggregatesOfRound        = 10
)

// firstOrigin is that of the first event, in nanoseconds.
const firstOrigin int64 = 1_700_000_000_000_000_000

// listReadings asks the real binary for pages of readings and of their events, of all times and of some, and for counts.
func listReadings(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("readings")
	if err != nil {
		return err
	}
	defer done()
	if err := b.fillReadings(ctx, dir); err != nil {
		return err
	}
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	p := &pages{b, ledge, ledge.data, "readings", `"origin":`}
	if err := p.measureAll(ctx, readingLists(b.counts.readings)); err != nil {
		return err
	}
	p.has = `"Count":`
	for _, l := range readingCounts {
		one, err := p.measure(ctx, l.name, l, 0)
		if err != nil {
			return err
		}
		one.Target = below(pageTarget, "ms p99", one.Ledge.P99)
	}
	return aggregateReadings(ctx, b)
}

// aggregateReadings asks the real binary for aggregates of one resource that has all the readings: of all times, and of a time of a tenth.
func aggregateReadings(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("aggregates")
	if err != nil {
		return err
	}
	defer done()
	if _, err := addReadings(ctx, dir, b.counts.readings, meterEvent); err != nil {
		return err
	}
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	if err := ledge.awaitIdle(ctx); err != nil {
		return err
	}
	one, done, err := clients(ctx, ledge.data, 1)
	if err != nil {
		return err
	}
	defer done()
	span := int64(b.counts.readings) * int64(betweenReadings)
	const path = readingPath + "/aggregate/device/name/" + meterName + "/resourceName/" + meterResource
	for _, l := range []struct {
		name, within string
		values       int
	}{
		{"all", "", b.counts.readings},
		{"a tenth of the time", fmt.Sprintf("/start/%d/end/%d", firstOrigin+span/2, firstOrigin+span/2+span/10-1), b.counts.readings / 10},
	} {
		request := httpRequest(http.MethodGet, path+l.within+"?buckets=1000", nil)
		rows, err := compare(ctx, b.counts.pageRounds, func(ctx context.Context, _ int) (measured, error) {
			w := work{workers: 1, count: aggregatesOfRound, each: 1, limit: b.counts.limit}
			w.do = func(int, int) error {
				body, err := one[0].call(request, http.StatusOK)
				if want := fmt.Sprintf(`"totalCount":%d,`, l.values); err == nil && !bytes.Contains(body, []byte(want)) {
					err = fmt.Errorf("answered %.300s", body)
				}
				return err
			}
			before := ledge.cpu()
			m, err := w.run(ctx)
			m.cpu = ledge.cpu() - before
			return m, err
		})
		if err != nil {
			return fmt.Errorf("aggregate of %s: %w", l.name, err)
		}
		name := fmt.Sprintf("aggregate of %s values of a resource in 1,000 buckets, %s, 1 client", whole(float64(l.values)), l.name)
		row := b.report.add(rows[0].alone(name))
		row.Ledge.P99 = rows[0].tails.median()
		row.Target = below(aggregateTarget, "ms p50", row.Ledge.P50)
	}
	return nil
}

var readingCounts = []list{
	{"count of readings, all", readingPath + "/count?"},
	{"count of readings, of a device", readingPath + "/count/device/name/" + sensorName(7) + "?"},
}

// readingLists are lists of so many readings. Half the time is that around the middle.
func readingLists(readings int) []list {
	span := int64(readings/readingsOfEvent) * int64(betweenEvents)
	half := fmt.Sprintf("/start/%d/end/%d?", firstOrigin+span/4, firstOrigin+span/4*3)
	device, resource := "/device/name/"+sensorName(7), "/resourceName/"+resourceName(3)
	return []list{
		{"all", readingPath + "/all?"},
		{"of a device", readingPath + device + "?"},
		{"of a resource", readingPath + resource + "?"},
		{"of a resource of a device", readingPath + device + resource + "?"},
		{"of half the time", readingPath + half},
		{"of a resource, half the time", readingPath + resource + half},
		{"of a device, half the time", readingPath + device + half},
		{"of a resource of a device, half the time", readingPath + device + resource + half},
		{"as events, all", eventPath + "/all?"},
		{"as events, of a device", eventPath + device + "?"},
		{"as events, of half the time", eventPath + half},
	}
}

// fillReadings adds readings to a data folder, and rows for how fast they are projected, and what a reading takes.
func (b *bench) fillReadings(ctx context.Context, dir string) error {
	took, err := addReadings(ctx, dir, b.counts.readings, sensorEvent)
	if err != nil {
		return err
	}
	rate := float64(b.counts.readings) / took.Seconds()
	b.single("projected from the log", "/s", rate).Target = &target{fmt.Sprintf("≥ %s /s", whole(projectTarget)), rate >= projectTarget}
	return b.sizes(dir)
}

// addReadings records readings on the log of a data folder, and projects them from there, as a start without a projection does. eventOf
// makes the nth event.
func addReadings(
	ctx context.Context, dir string, readings int, eventOf func(n int) domain.DataEventAdded,
) (projected time.Duration, err error) {
	s, err := openStore(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := recordReadings(ctx, s, readings, eventOf); err != nil {
		return 0, err
	}
	state, err := openState(dir, projections.Readings)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	from := time.Now()
	a, err := store.NewAppender(ctx, s.Readings(), state, store.AppenderOptions{})
	if err != nil {
		return 0, err
	}
	a.Close()
	return time.Since(from), nil
}

// recordReadings appends events with readings.
func recordReadings(ctx context.Context, s *store.Store, readings int, eventOf func(n int) domain.DataEventAdded) error {
	a, err := store.NewAppender(ctx, s.Readings(), newCheckpoint(), store.AppenderOptions{})
	if err != nil {
		return err
	}
	defer a.Close()
	l := &eventLog{store: s, appender: a}
	for n := 0; n < readings/readingsOfEvent; {
		var group []domain.Request
		for ; len(group) < fillStep && n < readings/readingsOfEvent; n++ {
			group = append(group, request(domain.AddDataEvent{Added: eventOf(n)}))
		}
		if err := l.submit(ctx, group...); err != nil {
			return fmt.Errorf("record readings: %w", err)
		}
	}
	return nil
}

func (b *bench) sizes(dir string) error {
	blocks, err := blockBytes(dir)
	if err != nil {
		return err
	}
	file, err := os.Stat(filepath.Join(dir, "readings.db"))
	if err != nil {
		return err
	}
	b.single("a reading in the projection", "bytes", float64(file.Size())/float64(b.counts.readings))
	b.single("a reading on the log", "bytes", float64(blocks)/float64(b.counts.readings))
	return nil
}

// single adds a row of one figure.
func (b *bench) single(name, unit string, value float64) *row {
	return b.report.add(row{Name: name, Unit: unit, Ledge: figure{Value: value}, Spread: span{value, value}})
}

func sensorName(n int) string   { return fmt.Sprintf("sensor-%03d", n) }
func resourceName(n int) string { return fmt.Sprintf("Temperature-%d", n) }

// meterEvent is the nth event of a device that has many values of one resource in each.
func meterEvent(n int) domain.DataEventAdded {
	e := domain.DataEvent{
		ID: newID(), Profile: "meter", Device: meterName, Source: meterResource,
		Origin: firstOrigin + int64(n)*readingsOfEvent*int64(betweenReadings),
	}
	list := make([]domain.ReadingValue, readingsOfEvent)
	for i := range list {
		list[i].Reading = domain.Reading{
			ID: newID(), Profile: e.Profile, Device: e.Device, Resource: meterResource, ValueType: "Float32", Units: "W", Size: 12,
			Origin: e.Origin + int64(i)*int64(betweenReadings),
			Text:   strconv.FormatFloat(230+20*math.Sin(float64(n)/500)+float64(i), 'e', 6, 32),
		}
	}
	return domain.DataEventAdded{Event: e, Readings: list}
}

// sensorEvent is the nth event of all sensors.
func sensorEvent(n int) domain.DataEventAdded {
	e := domain.DataEvent{
		ID: newID(), Profile: "climate-sensor", Device: sensorName(n % sensors), Source: "all",
		Origin: firstOrigin + int64(n)*int64(betweenEvents),
	}
	list := make([]domain.ReadingValue, readingsOfEvent)
	for i := range list {
		list[i].Reading = domain.Reading{
			ID: newID(), Profile: e.Profile, Device: e.Device, Resource: resourceName(i), ValueType: "Float32", Size: 12,
			Origin: e.Origin, Text: "2.150000e+01",
		}
	}
	return domain.DataEventAdded{Event: e, Readings: list}
}
