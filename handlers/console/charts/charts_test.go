package charts

import (
	"fmt"
	"math"
	"net/url"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/data/aggregate"
)

// gapsOf are the times before which there is a gap.
func gapsOf(points []point) (at []int64) {
	for _, p := range points {
		if p.Gap {
			at = append(at, p.At)
		}
	}
	return at
}

func TestMarkGaps(t *testing.T) {
	for _, one := range []struct {
		at   []int64
		want string
	}{
		{nil, "[]"},
		{[]int64{0, 1000}, "[]"},
		{[]int64{0, 1, 2, 1000}, "[]"}, // too few for a usual time
		{[]int64{0, 1, 2, 3, 4, 1000}, "[1000]"},
		{[]int64{0, 10, 20, 30, 40, 90, 141}, "[141]"},
		{[]int64{5, 5, 5, 5, 5, 6, 7, 13}, "[13]"},
	} {
		var points []point
		for _, at := range one.at {
			points = append(points, point{At: at})
		}
		if markGaps(points); fmt.Sprint(gapsOf(points)) != one.want {
			t.Errorf("%v: got gaps before %v, want %s", one.at, gapsOf(points), one.want)
		}
	}
}

// TestTakeBuckets makes points of buckets: one of texts alone is a gap.
func TestTakeBuckets(t *testing.T) {
	n := func(f float64) *float64 { return &f }
	var c chart
	c.takeBuckets(aggregate.Aggregate{Interval: 10e6, Total: 9, Buckets: []aggregate.Bucket{
		{Start: 0, Count: 3, Min: n(1), Mean: n(2), Max: n(3.0123456)}, {Start: 10e6, Count: 1, Min: n(4), Mean: n(4), Max: n(4)},
		{Start: 20e6, Count: 2, Others: 2}, {Start: 30e6, Count: 3, Others: 1, Min: n(5), Mean: n(6), Max: n(7)},
	}})
	want := "[{35 2 {5 5} {6 6} {7 7} true} {15 1 {4 4} {4 4} {4 4} false} {5 3 {1 1} {2 2} {3.0123456 3.01235} false}]"
	if got := fmt.Sprint(c.Points); got != want || c.Others != 3 || !c.Summed {
		t.Errorf("got %s with %d others, want %s with 3", got, c.Others, want)
	}
}

// TestSetTime has a period before a span, and the usual span for one that is unknown.
func TestSetTime(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, one := range []struct {
		span     string
		period   web.Period
		name     string
		from, to int64
	}{
		{"", web.Period{}, "24h", now.Add(-24 * time.Hour).UnixNano(), now.UnixNano()},
		{"nosuch", web.Period{}, "24h", now.Add(-24 * time.Hour).UnixNano(), now.UnixNano()},
		{"1h", web.Period{}, "1h", now.Add(-time.Hour).UnixNano(), now.UnixNano()},
		{"all", web.Period{}, "all", math.MinInt64, now.UnixNano()},
		{"1h", web.Period{From: "x", First: time.Unix(0, 5)}, "", 5, now.UnixNano()},
		{"1h", web.Period{To: "x", Last: time.Unix(0, 7)}, "", math.MinInt64, 7},
	} {
		d := pageData{Period: one.period}
		if d.setTime(one.span, now); d.Span != one.name || d.from != one.from || d.to != one.to {
			t.Errorf("%q %+v: got %q from %d to %d", one.span, one.period, d.Span, d.from, d.to)
		}
	}
}

func TestStretch(t *testing.T) {
	for interval, want := range map[time.Duration]string{
		36 * time.Millisecond: "0.036 seconds",
		90 * time.Second:      "90 seconds", 5 * time.Minute: "5.0 minutes",
		3 * time.Hour: "3.0 hours", 72 * time.Hour: "3.0 days",
	} {
		if got := nameStretch(interval); got != want {
			t.Errorf("%s: got %s, want %s", interval, got, want)
		}
	}
}

// TestAddresses are escaped, whatever names are.
func TestAddresses(t *testing.T) {
	d := pageData{Address: "/devices/" + url.PathEscape("a b/c?")}
	d.makeLinks([]string{"r&s=1"})
	if want := "/devices/a%20b%2Fc%3F/chart?resource=r%26s%3D1"; d.Detail != want || d.Spans[0].At != want+"&span=1h" {
		t.Errorf("got %s and %s, want %s", d.Detail, d.Spans[0].At, want)
	}
	const want = "/readings/csv?device=a%26b&resource=r&to=1970-01-01T00%3A00%3A00Z"
	if got := csvAddress(domain.Series{Device: "a&b", Resource: "r", From: math.MinInt64}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
