package datadir

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestForecast(t *testing.T) {
	const gb = 1_000_000_000
	for _, one := range []struct {
		name string
		free []uint64 // every ten minutes
		want string
	}{
		{"no hour yet", makeSeries(6, func(i int) uint64 { return uint64(100-5*i) * gb }), ""},
		{"it does not fill", makeSeries(100, func(i int) uint64 { return uint64(50+i%3) * gb }), ""},
		{"a gigabyte a day", makeSeries(144, func(i int) uint64 { return 30*gb - uint64(i)*gb/144 }),
			"the disk will be full in 25 days, as fast as it has filled in the last 24 hours"},
		{"the growth before the last day", makeSeries(600, func(i int) uint64 { return max(900*gb-uint64(i)*2*gb, 30*gb) }), ""},
		{"a gigabyte in an hour", makeSeries(7, func(i int) uint64 { return 20*gb - uint64(i)*gb/6 }),
			"the disk will be full in 15 hours, as fast as it has filled in the last 1 hour"},
		{"not for years", makeSeries(144, func(i int) uint64 { return 900*gb - uint64(i) }), ""},
		{"nearly full", makeSeries(144, func(int) uint64 { return 7 * gb }),
			"the disk is nearly full: 7.0 GB are free, and readings are refused below 4.0 GB"},
	} {
		f := NewForecast(func() (uint64, error) { return one.free[len(one.free)-1], nil }, 4*gb)
		for i, free := range one.free {
			f.add(freeSpace{time.Unix(0, 0).Add(time.Duration(i) * sampleEvery), free})
		}
		got := strings.Join(f.Warnings(), "\n")
		if one.want == "" && got != "" || !strings.HasPrefix(got, one.want) {
			t.Errorf("%s: got %q, want %q", one.name, got, one.want)
		}
		if n := len(f.samples); n > 145 {
			t.Errorf("%s: %d samples", one.name, n)
		}
	}
	f := NewForecast(func() (uint64, error) { return 0, fmt.Errorf("no such disk") }, gb)
	if got := f.Warnings(); got != nil {
		t.Errorf("without the free space: %q", got)
	}
}

func makeSeries(n int, at func(i int) uint64) (list []uint64) {
	for i := range n {
		list = append(list, at(i))
	}
	return list
}
