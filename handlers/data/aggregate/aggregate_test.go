package aggregate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"ledge/domain"
	"ledge/handlers/data/aggregate"
	"ledge/handlers/handlerstest"
)

// postValues records values of resource r of device d, as pairs of a text and its origin.
func postValues(t *testing.T, log *handlerstest.Log, valueType string, values ...any) {
	t.Helper()
	for i := 0; i < len(values); i += 2 {
		id := len(log.Recorded()) + 1
		origin, ok := values[i+1].(int64)
		if !ok {
			origin = int64(values[i+1].(int))
		}
		log.Given(t, domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{
			ID: handlerstest.ID(id), Event: handlerstest.ID(1000 + id), Profile: "p", Device: "d", Resource: "r",
			ValueType: valueType, Units: "V", Size: 1, Origin: origin, Text: values[i].(string),
		}}})
	}
}

func TestRead(t *testing.T) {
	const all, most = int64(math.MinInt64), int64(math.MaxInt64)
	for _, one := range []struct {
		name     string
		values   []any
		from, to int64
		buckets  int
		want     string
	}{
		{
			"no value", nil, all, most, 10,
			`"start":0,"end":0,"interval":0,"totalCount":0,"buckets":[]`,
		},
		{
			"no value of a time", nil, 5, 14, 10,
			`"start":5,"end":14,"interval":1,"totalCount":0,"buckets":[]`,
		},
		{
			"one value", []any{"2", 7}, all, most, 10,
			`"valueType":"Int8","units":"V","start":7,"end":7,"interval":1,"totalCount":1,` +
				`"buckets":[{"start":7,"count":1,"min":2,"max":2,"mean":2}]`,
		},
		{
			"a gap", []any{"1", 0, "2", 1, "6", 2, "9", 29}, all, most, 3,
			`"valueType":"Int8","units":"V","start":0,"end":29,"interval":10,"totalCount":4,` +
				`"buckets":[{"start":0,"count":3,"min":1,"max":6,"mean":3},{"start":20,"count":1,"min":9,"max":9,"mean":9}]`,
		},
		{
			"the ends are included", []any{"1", 9, "2", 10, "3", 19, "4", 20}, 10, 19, 1,
			`"valueType":"Int8","units":"V","start":10,"end":19,"interval":10,"totalCount":2,` +
				`"buckets":[{"start":10,"count":2,"min":2,"max":3,"mean":2.5}]`,
		},
		{
			"before 1970", []any{"1", -20, "-2", -11}, all, most, 5,
			`"valueType":"Int8","units":"V","start":-20,"end":-11,"interval":2,"totalCount":2,` +
				`"buckets":[{"start":-20,"count":1,"min":1,"max":1,"mean":1},{"start":-12,"count":1,"min":-2,"max":-2,"mean":-2}]`,
		},
		{
			"the longest time", []any{"1", all, "3", most}, all, most, 2,
			`"valueType":"Int8","units":"V","start":-9223372036854775808,"end":9223372036854775807,` +
				`"interval":9223372036854775807,"totalCount":2,` +
				`"buckets":[{"start":-9223372036854775808,"count":1,"min":1,"max":1,"mean":1},` +
				`{"start":0,"count":1,"min":3,"max":3,"mean":3}]`,
		},
	} {
		t.Run(one.name, func(t *testing.T) {
			log := handlerstest.NewLog()
			postValues(t, log, "Int8", one.values...)
			q := aggregate.Query{Series: domain.Series{Device: "d", Resource: "r", From: one.from, To: one.to}, Buckets: one.buckets}
			a, err := aggregate.Read(t.Context(), log.View, q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(a)
			if want := `{"deviceName":"d","resourceName":"r",` + one.want + `}`; err != nil || string(got) != want {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

// TestNumbersOnly has values that are not numbers counted beside the others.
func TestNumbersOnly(t *testing.T) {
	log := handlerstest.NewLog()
	postValues(t, log, "Bool", "true", 0)
	postValues(t, log, "Float64", "4", 1, "NaN", 2)
	postValues(t, log, "String", "5", 10)
	q := aggregate.Query{Series: domain.Series{Device: "d", Resource: "r", From: 0, To: 19}, Buckets: 2}
	a, err := aggregate.Read(t.Context(), log.View, q)
	got, _ := json.Marshal(a.Buckets)
	want := `[{"start":0,"count":3,"others":2,"min":4,"max":4,"mean":4},{"start":10,"count":1,"others":1}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestMean has sums that rounding or the range of a float64 would spoil.
func TestMean(t *testing.T) {
	for _, one := range []struct {
		values []any
		want   float64
	}{
		{[]any{"0.1", 0, "0.1", 0, "0.1", 0}, 0.1},
		{[]any{"1e16", 0, "1", 0, "-1e16", 0, "1", 0}, 0.5},
		{[]any{"1.7976931348623157e308", 0, "1.7976931348623157e308", 0}, math.MaxFloat64},
		{[]any{"1.7976931348623157e308", 0, "-1.7976931348623157e308", 0}, 0},
		{[]any{"1e-290", 0, "3e-290", 0}, 2e-290},
	} {
		log := handlerstest.NewLog()
		postValues(t, log, "Float64", one.values...)
		q := aggregate.Query{Series: domain.Series{Device: "d", Resource: "r", From: 0, To: 9}, Buckets: 1}
		a, err := aggregate.Read(t.Context(), log.View, q)
		if err != nil || len(a.Buckets) != 1 || *a.Buckets[0].Mean != one.want {
			t.Errorf("%v: got %+v, %v, want the mean %v", one.values, a.Buckets, err, one.want)
		}
	}
}

// counting are lists with a series of total values. It counts the values that are read.
type counting struct {
	domain.Lists
	total int
	read  *int
}

func (l counting) Readings(domain.Page, ...domain.Filter) ([]domain.Reading, int, error) {
	return []domain.Reading{{Origin: int64(l.total) - 1}}, l.total, nil
}

func (l counting) Numbers(s domain.Series, after string, most int, f func(int64, float64)) (string, error) {
	from := 0
	_, _ = fmt.Sscan(after, &from)
	for ; from < l.total; from++ {
		f(int64(from), 1)
		*l.read++
		if most--; most == 0 {
			return fmt.Sprint(from + 1), nil
		}
	}
	return "", nil
}

// TestBounds refuses too many values before one is read, reads many in parts, and stops when the client is gone.
func TestBounds(t *testing.T) {
	views := 0
	ask := func(ctx context.Context, total int) (aggregate.Aggregate, int, error) {
		read := 0
		views = 0
		state := func() (domain.View, func()) {
			views++
			return domain.View{Lists: counting{total: total, read: &read}}, func() {}
		}
		a, err := aggregate.Read(ctx, state, aggregate.Query{Series: domain.Series{From: 0, To: math.MaxInt64}, Buckets: 1})
		return a, read, err
	}
	if _, read, err := ask(t.Context(), aggregate.MostValues+1); domain.CodeOf(err) != domain.TooLarge || read != 0 {
		t.Errorf("too many values: %d are read, %v", read, err)
	}
	if a, read, err := ask(t.Context(), 100_001); err != nil || a.Total != 100_001 || a.Buckets[0].Count != read || views != 7 {
		t.Errorf("many values: got %+v of %d under %d views, %v", a, read, views, err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, read, err := ask(gone, 100_001); !errors.Is(err, context.Canceled) || read != 20_000 {
		t.Errorf("a client that is gone: %d values are read, %v", read, err)
	}
}
