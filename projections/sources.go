package projections

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"

	"ledge/domain"
)

// SourceUse is what the events of core-data of one source take.
type SourceUse struct {
	Profile, Device, Source string
	// Count is the number of events, Bytes the size of their readings' values.
	Count int
	Bytes int64
	// Oldest is the lowest origin, in nanoseconds since the Unix epoch.
	Oldest int64
}

// Key is the value of [domain.IndexSource].
func (s SourceUse) Key() string { return domain.SourceKey(s.Profile, s.Device, s.Source) }

// Sources lists, in no order that means anything, at most so many sources that follow one with the key after; "" begins
// the list, and fewer than most end it. Each costs the look-up of a counter and of one event, however many it has.
func (v *View) Sources(after string, most int) (list []SourceUse, err error) {
	err = v.reading(func() error {
		x, err := dataEvents.find(Filter{Index: domain.IndexSource})
		if err != nil {
			return err
		}
		from, c := appendCount(nil, x.id, after), v.rows.Cursor()
		key, value := c.Seek(from)
		if bytes.Equal(key, from) {
			key, value = c.Next()
		}
		for prefix := from[:2]; len(list) < most && bytes.HasPrefix(key, prefix); key, value = c.Next() {
			list = append(list, sourceUse(v.rows, x.id, key[len(prefix):], readTally(unseal(key, value))))
		}
		return nil
	})
	return list, err
}

func sourceUse(rows *bbolt.Bucket, index byte, value []byte, n tally) SourceUse {
	oldest := dataEvents.oldest(rows, appendRangeAt(nil, index, value), 1)
	if len(oldest) == 0 {
		panic(damage{fmt.Errorf("source %q has a counter and no events", value)})
	}
	e := oldest[0]
	return SourceUse{Profile: e.Profile, Device: e.Device, Source: e.Source, Count: int(n.count), Bytes: n.weight, Oldest: e.Origin}
}

// OldestOf returns at most n events of the source with a key, see [domain.SourceKey], by their origin, the oldest first.
func (v *View) OldestOf(source string, n int) (list []domain.DataEvent, err error) {
	err = v.reading(func() error {
		x, err := dataEvents.find(Filter{Index: domain.IndexSource})
		if err == nil {
			list = dataEvents.oldest(v.rows, appendRange(nil, x.id, source), n)
		}
		return err
	})
	return list, err
}

// oldest reads the first entities of a range.
func (k *kind[S]) oldest(rows *bbolt.Bucket, prefix []byte, n int) []S {
	var names [][]byte
	for suffix := range suffixes(rows, prefix, nil) {
		if len(names) == n {
			break
		}
		names = append(names, suffix[suffixHead:])
	}
	return k.readAll(rows, names)
}
